package primitives_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

var (
	// b is the backend that an adapter package makes of the application's client.
	b backend.Backend = newServer()

	// client is the client that the first example makes.
	client, _ = primitives.New(b, nil)
)

func Example() {
	client, err := primitives.New(b, nil) // one for each process; NewClient of an adapter makes b, too
	if err != nil {
		log.Fatal(err)
	}
	// Do waits until the lock is free. It returns nil if the lock was held to the end.
	err = client.NewLock("orders:42", nil).Do(context.Background(),
		func(ctx context.Context, _ *primitives.Lease) error {
			fmt.Println("shipping order 42")
			return ctx.Err() // ctx ends if the lock is lost.
		})
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := errors.Join(err, client.Close(ctx)); err != nil {
		log.Fatal(err)
	}
	// Output: shipping order 42
}

// One process at a time works on an order.
func ExampleLock_Do() {
	err := client.NewLock("orders:42", nil).Do(context.Background(),
		func(ctx context.Context, lease *primitives.Lease) error {
			fmt.Println("shipping order 42")
			return ctx.Err()
		})
	if errors.Is(err, primitives.ErrLost) {
		fmt.Println("another process may have worked on the order, too")
	}
	if err != nil {
		log.Fatal(err)
	}
	// Output: shipping order 42
}

// All replicas migrate the database when they start: the first one does it, the others wait, and then find it done.
func ExampleLock_Do_migration() {
	version := 6  // which the database knows
	for range 2 { // replicas
		err := client.NewLock("migrations", nil).Do(context.Background(),
			func(ctx context.Context, _ *primitives.Lease) error {
				if version >= 7 { // Read it under the lock: it may have changed while this replica waited.
					fmt.Println("the database is up to date")
					return nil
				}
				fmt.Println("migrating to version 7")
				version = 7
				return ctx.Err()
			})
		if err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// migrating to version 7
	// the database is up to date
}

// A job that must not run twice at the same time, and need not run if another process runs it.
func ExampleLock_TryLock() {
	ctx := context.Background()
	run := func(job func(ctx context.Context) error) error {
		lease, err := client.NewLock("nightly", nil).TryLock(ctx)
		if errors.Is(err, primitives.ErrNotAcquired) {
			fmt.Println("another process runs the job")
			return nil
		}
		if err != nil {
			return err
		}
		return lease.Do(ctx, job)
	}
	err := run(func(context.Context) error {
		fmt.Println("the job runs")
		return run(nil) // in another process, meanwhile
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// the job runs
	// another process runs the job
}

// The deadline of the context bounds the waiting; the lease bounds the work.
func ExampleLock_Lock_bounded() {
	ctx := context.Background()
	report := client.NewLock("report", &primitives.LockOptions{Lease: time.Minute})
	other, err := report.Lock(ctx) // in another process
	if err != nil {
		log.Fatal(err)
	}

	bounded, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	lease, err := report.Lock(bounded)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		fmt.Println("another process still holds the lock")
	case err != nil:
		log.Fatal(err)
	default:
		err = lease.Do(ctx, func(context.Context) error {
			fmt.Println("writing the report")
			return nil
		})
	}
	if err := errors.Join(err, other.Release(ctx)); !errors.Is(err, context.DeadlineExceeded) {
		log.Fatal(err)
	}
	// Output: another process still holds the lock
}

// A lock that one replica has before it is used, so a failover is less likely to forget it.
func ExampleLockOptions_replicas() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ledger := client.NewLock("ledger", &primitives.LockOptions{Replicas: 1})
	err := ledger.Do(ctx, func(context.Context, *primitives.Lease) error {
		fmt.Println("one replica has the lock")
		return nil
	})
	if errors.Is(err, primitives.ErrReplicas) {
		fmt.Println("no replica follows the primary:", err) // The lock is free.
	}
	if err != nil {
		log.Fatal(err)
	}
	// Output: one replica has the lock
}

// A process that finds the lock held reports which process holds it, and for what.
func ExampleLock_Holder() {
	ctx := context.Background()
	schema := client.NewLock("schema", &primitives.LockOptions{Metadata: "migration 42"})
	err := schema.Do(ctx, func(ctx context.Context, lease *primitives.Lease) error {
		holder, err := schema.Holder(ctx) // in any process
		if errors.Is(err, primitives.ErrNotHeld) {
			return errors.New("the lock is free")
		}
		if err != nil {
			return err
		}
		fmt.Printf("held for %s, by this process: %v\n", holder.Metadata, holder.PID == os.Getpid())
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: held for migration 42, by this process: true
}

// A function that acquires the lock itself, called by a holder of the lock.
func ExampleLease_Reenter() {
	account := client.NewLock("account:7", nil)
	credit := func(ctx context.Context) error {
		return account.Do(ctx, func(context.Context, *primitives.Lease) error { // at once, for the holder
			fmt.Println("credited under the same lock")
			return nil
		})
	}
	err := account.Do(context.Background(), func(ctx context.Context, lease *primitives.Lease) error {
		return credit(lease.Reenter(ctx))
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: credited under the same lock
}

// A worker that makes no progress loses its lock: the watchdog does not renew a fixed lease, and the worker extends it
// after each step.
func ExampleLease_Extend() {
	export := client.NewLock("export", &primitives.LockOptions{Lease: time.Minute})
	err := export.Do(context.Background(), func(ctx context.Context, lease *primitives.Lease) error {
		for step := range 3 {
			fmt.Println("step", step)
			if err := lease.Extend(ctx, time.Minute); err != nil {
				return err // ErrNotHeld: the step took longer than the lease, and another worker may have begun.
			}
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// step 0
	// step 1
	// step 2
}

// A holder claims an account when it reads the balance. So the account refuses a process that was paused for longer
// than its lease, even before the next holder writes. The functions stand for the SQL in docs/guarantees.md.
func ExampleLease_Token() {
	ctx := context.Background()
	account := client.NewLock("account:7", nil)
	var balance, fence int64
	claim := func(token int64) (read int64) { // UPDATE ... SET fence = $1 WHERE fence <= $1 RETURNING balance
		fence = max(fence, token)
		return balance
	}
	write := func(token, changed int64) bool { // UPDATE ... SET balance = $2 WHERE fence = $1
		if fence == token {
			balance = changed
		}
		return fence == token
	}

	paused, err := account.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	pausedRead := claim(paused.Token())
	if _, err := account.ForceUnlock(ctx); err != nil { // instead of a long pause
		log.Fatal(err)
	}
	err = account.Do(ctx, func(_ context.Context, lease *primitives.Lease) error {
		read := claim(lease.Token())
		fmt.Println("the paused process writes:", write(paused.Token(), pausedRead+100))
		fmt.Println("the holder writes:", write(lease.Token(), read+7))
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the paused process had lost the lock:", errors.Is(paused.Release(ctx), primitives.ErrNotHeld))
	// Output:
	// the paused process writes: false
	// the holder writes: true
	// the paused process had lost the lock: true
}

// One of all processes leads, and each of them can ask which one.
func ExampleElection() {
	election := client.NewElection("scheduler", &primitives.ElectionOptions{Value: "10.0.0.7:8080"})
	err := election.Run(context.Background(), func(ctx context.Context, lease *primitives.Lease) error {
		leader, err := election.Leader(ctx)
		fmt.Println("the leader's address:", leader.Value)
		return err // A leader that goes on leads until ctx ends.
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = election.Leader(context.Background())
	fmt.Println("there is none any more:", errors.Is(err, primitives.ErrNoLeader))
	// Output:
	// the leader's address: 10.0.0.7:8080
	// there is none any more: true
}

// Each replica calls Do at each full hour. One of them writes the report.
func ExamplePeriodicJob() {
	report := client.NewPeriodicJob("report", time.Hour, nil)
	hour := time.Now().Truncate(time.Hour) // the time for which the report is due
	for range 2 {
		ran, err := report.Do(context.Background(), hour, func(context.Context, primitives.JobRun) error {
			fmt.Println("writing the report")
			return nil
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("this replica wrote it:", ran)
	}
	// Output:
	// writing the report
	// this replica wrote it: true
	// this replica wrote it: false
}

// A metric of the age, or a probe, shows that no replica has completed the job for too long.
func ExamplePeriodicJob_LastCompleted() {
	ctx, backup := context.Background(), client.NewPeriodicJob("backup", time.Hour, nil)
	hour := time.Now().Truncate(time.Hour)
	_, err := backup.Do(ctx, hour, func(_ context.Context, run primitives.JobRun) error {
		fmt.Println("backup of this hour:", run.Period.Equal(hour))
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	last, err := backup.LastCompleted(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("overdue:", time.Since(last) > 2*time.Hour)
	// Output:
	// backup of this hour: true
	// overdue: false
}
