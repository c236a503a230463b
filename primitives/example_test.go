package primitives_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

var (
	// b is what an adapter package made of the application's client.
	b backend.Backend

	// independent is the same for each of five servers.
	independent []backend.Backend

	// client is what the first example makes.
	client *primitives.Client
)

func Example() {
	client, err := primitives.New(b, nil) // one for each process
	if err != nil {
		log.Fatal(err)
	}
	ship := func(ctx context.Context) (err error) {
		lease, err := client.NewLock("orders:42", nil).Lock(ctx) // waits until the lock is free
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, lease.Release(ctx)) }() // nil: it was held to the end
		return work(lease.Context(ctx))
	}
	ctx := context.Background()
	if err := errors.Join(ship(ctx), client.Close(ctx)); err != nil {
		log.Fatal(err)
	}
}

// Work on one order, by one process at a time. The resource refuses a token that is lower than one it has seen.
func ExampleLock_Do() {
	err := client.NewLock("orders:42", nil).Do(context.Background(),
		func(ctx context.Context, lease *primitives.Lease) error {
			fmt.Println("the fencing token is", lease.Token())
			return work(ctx)
		})
	if errors.Is(err, primitives.ErrLost) {
		fmt.Println("another process may have worked on the order, too")
	}
	if err != nil {
		log.Fatal(err)
	}
}

// A job that must not run twice at once, and need not run if another process does it.
func ExampleLock_TryLock() {
	ctx := context.Background()
	lease, err := client.NewLock("nightly", nil).TryLock(ctx)
	if errors.Is(err, primitives.ErrNotAcquired) {
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	if err := lease.Do(ctx, work); err != nil {
		log.Fatal(err)
	}
}

// Jobs for one account are done in the order in which they came, whichever process they came to.
func ExampleFairLock() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	lease, err := client.NewFairLock("account:7", nil).Lock(ctx) // waits behind those who came before
	if errors.Is(err, primitives.ErrNotAcquired) {
		fmt.Println("too many came before; the place in the queue is given up")
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	err = work(lease.Context(context.Background()))
	if err := errors.Join(err, lease.Release(context.Background())); err != nil {
		log.Fatal(err)
	}
}

// Many workers of many processes append to one file, one at a time, in the order in which they asked.
func ExampleMutex() {
	ctx := context.Background()
	lease, err := client.NewMutex("journal", nil).Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	err = work(lease.Context(ctx))
	if err := errors.Join(err, lease.Release(ctx)); err != nil { // grants it to the next who waits
		log.Fatal(err)
	}
}

// A transfer holds both accounts, whichever order others name them in.
func ExampleMultiLock() {
	ctx := context.Background()
	both := primitives.NewMultiLock(client.NewLock("account:7", nil), client.NewLock("account:9", nil))
	lease, err := both.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	err = work(lease.Context(ctx)) // It ends when either lock is lost.
	if err := errors.Join(err, lease.Release(ctx)); err != nil {
		log.Fatal(err)
	}
}

// A lock on five servers that know nothing of each other: two of them may fail.
func ExampleRedLock() {
	var clients []*primitives.Client
	for _, b := range independent {
		c, err := primitives.New(b, nil)
		if err != nil {
			log.Fatal(err)
		}
		clients = append(clients, c)
	}
	ctx := context.Background()
	lease, err := primitives.NewRedLock(clients, "nightly", nil).Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	err = work(lease.Context(ctx)) // It ends when no majority is left.
	if err := errors.Join(err, lease.Release(ctx)); err != nil {
		log.Fatal(err)
	}
}

// The deadline of the context bounds the waiting; the lease bounds the work.
func ExampleLock_Lock_bounded() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	lock := client.NewLock("report", &primitives.LockOptions{Lease: time.Minute})
	lease, err := lock.Lock(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		fmt.Println("still held by another")
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	ctx = context.Background()
	err = work(lease.Context(ctx))
	if err := errors.Join(err, lease.Release(ctx)); err != nil {
		log.Fatal(err)
	}
}

// A lock that one replica has before it is used, so that a failover is less likely to forget it.
func ExampleLockOptions_replicas() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	lock := client.NewLock("ledger", &primitives.LockOptions{Replicas: 1})
	lease, err := lock.Lock(ctx)
	if errors.Is(err, primitives.ErrReplicas) {
		fmt.Println("no replica follows the primary:", err) // The lock is free.
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	err = work(lease.Context(context.Background()))
	if err := errors.Join(err, lease.Release(context.Background())); err != nil {
		log.Fatal(err)
	}
}

// A function that takes the lock by itself, called by one that holds it.
func ExampleLease_Reenter() {
	lock := client.NewLock("account:7", nil)
	credit := func(ctx context.Context) error {
		lease, err := lock.Lock(ctx) // at once, under the outer lease's context
		if err != nil {
			return err
		}
		return errors.Join(work(ctx), lease.Release(ctx))
	}
	ctx := context.Background()
	lease, err := lock.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	err = credit(lease.Reenter(ctx))
	if err := errors.Join(err, lease.Release(ctx)); err != nil {
		log.Fatal(err)
	}
}

// The resource refuses writers whose token is lower than one that it has seen.
func ExampleLease_Token() {
	ctx := context.Background()
	lease, err := client.NewLock("account:7", nil).Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	err = write("UPDATE account SET sum = 12, fence = $1 WHERE id = 7 AND fence <= $1", lease.Token())
	if err := errors.Join(err, lease.Release(ctx)); err != nil {
		log.Fatal(err)
	}
}

// Who is refused asks under which token the lock is held, or was last.
func ExampleFencedLock() {
	ctx := context.Background()
	lock := client.NewFencedLock("ledger", nil)
	lease, err := lock.TryLock(ctx)
	if errors.Is(err, primitives.ErrNotAcquired) {
		last, err := lock.LastToken(ctx)
		fmt.Println("held under token", last, err)
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	err = write("UPDATE ledger SET sum = 12, fence = $1 WHERE fence <= $1", lease.Token())
	if err := errors.Join(err, lease.Release(ctx)); err != nil {
		log.Fatal(err)
	}
}

// Waiters that hear no messages: the first pause is at most 20 ms, later ones at most a second.
func ExampleSpinLock() {
	ctx := context.Background()
	lock := client.NewSpinLock("cache:refill", &primitives.SpinLockOptions{
		FirstDelay: 20 * time.Millisecond, MaxDelay: time.Second,
	})
	lease, err := lock.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	err = work(lease.Context(ctx))
	if err := errors.Join(err, lease.Release(ctx)); err != nil {
		log.Fatal(err)
	}
}

// A writer that shows others what it has written, and goes on reading it.
func ExampleReadWriteLock() {
	ctx := context.Background()
	prices := client.NewReadWriteLock("prices", nil)
	writer, err := prices.WriteLock().Lock(ctx) // alone
	if err != nil {
		log.Fatal(err)
	}
	err = write("UPDATE price SET cents = 1200, fence = $1 WHERE fence <= $1", writer.Token())
	reader, readErr := prices.ReadLock().Lock(writer.Reenter(ctx))
	if err := errors.Join(err, readErr, writer.Release(ctx)); err != nil { // from here on others read, too
		log.Fatal(err)
	}
	err = work(reader.Context(ctx))
	if err := errors.Join(err, reader.Release(ctx)); err != nil {
		log.Fatal(err)
	}
}

// At most three processes at a time do something heavy. If they may crash, take a [PermitSemaphore], and
// read no further: a permit of this one is lost with the process that has it. The first to come makes the
// semaphore: also after a restart, and after the server has lost its data.
func ExampleSemaphore() {
	ctx := context.Background()
	heavy := client.NewSemaphore("heavy", &primitives.SemaphoreOptions{Permits: 3})
	if err := heavy.Acquire(ctx, 1); err != nil {
		log.Fatal(err)
	}
	err := work(ctx)
	if err := errors.Join(err, heavy.Release(ctx, 1)); err != nil { // sent even if ctx has ended
		log.Fatal(err)
	}
}

// Who waits until five parts of a run are done, and may restart at any time: records say what is done, the
// latch only says when to look. Each run has a latch of its own name.
func ExampleCountDownLatch() {
	ctx := context.Background()
	run := "import:2026-11-23"
	if recorded(run) {
		return // It was done before the restart.
	}
	parts := client.NewCountDownLatch(run)
	// If the latch is set, from before the restart, this changes nothing. The latch expires, so that
	// nobody waits for ever for a part whose process is gone.
	if _, err := parts.InitCountWithTTL(ctx, 5, time.Hour); err != nil {
		log.Fatal(err)
	}
	if err := parts.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	for part := range 5 {
		if !recorded(fmt.Sprintf("%s/%d", run, part)) {
			log.Fatal("the latch has expired")
		}
	}
	record(run)
}

// Who does one of the parts: it may start before the latch is set.
func ExampleCountDownLatch_WaitUntilSet() {
	ctx := context.Background()
	run, part := "import:2026-11-23", "import:2026-11-23/3"
	if recorded(part) {
		return // It is not counted twice.
	}
	parts := client.NewCountDownLatch(run)
	if err := parts.WaitUntilSet(ctx); err != nil {
		log.Fatal(err)
	}
	if err := work(ctx); err != nil {
		log.Fatal(err)
	}
	record(part)
	if _, err := parts.CountDown(ctx); err != nil {
		log.Fatal(err)
	}
}

// Numbers that no other process gets.
func ExampleAtomicLong() {
	ctx := context.Background()
	number, err := client.NewAtomicLong("invoice").Increment(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("invoice", number)
}

// Ids that no other process gets. Most calls send nothing.
func ExampleIDGenerator() {
	ctx := context.Background()
	ids := client.NewIDGenerator("order")
	if _, err := ids.Init(ctx, 1, 1000); err != nil { // the first process sets it
		log.Fatal(err)
	}
	id, err := ids.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("order", id)
}

// A sum of fractions, such as a budget that processes spend from.
func ExampleAtomicDouble() {
	ctx := context.Background()
	left, err := client.NewAtomicDouble("budget").Add(ctx, -12.5)
	if err != nil {
		log.Fatal(err)
	}
	if left < 0 {
		fmt.Println("overdrawn by", -left)
	}
}

func work(context.Context) error { return nil }

func write(string, int64) error { return nil }

func recorded(string) bool { return false }

func record(string) {}
