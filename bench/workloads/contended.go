package workloads

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/bench/benchmark"
	"github.com/hasp-go/hasp/primitives"
)

// contended returns the workloads of which clients compete for one object.
func contended() []benchmark.Workload {
	clients := []int{2, 8, 64, 200}
	all := []benchmark.Workload{
		{Name: "hand_over", Sizes: clients, Unit: "clients", Short: 4, Weight: 10, Rounds: 5,
			Peers: []string{benchmark.Redisson}, Subjects: on(func(s *setup) []benchmark.Subject {
				return append(s.handOver(0), s.redisson(false, 10*s.Turn)...)
			})},
		{Name: "hand_over_5ms", Sizes: clients, Unit: "clients", Short: 2, Weight: 10, Rounds: 5,
			Subjects: on(func(s *setup) []benchmark.Subject { return s.handOver(5 * time.Millisecond) })},
	}
	for _, writes := range []float64{0.01, 0.1, 0.5} {
		all = append(all, benchmark.Workload{
			Name: "readwrite_" + percent(writes), Sizes: []int{16, 64}, Unit: "clients", Short: 1, Weight: 5,
			Subjects: on(func(s *setup) []benchmark.Subject { return s.readWrite(writes) }),
		})
	}
	return append(all, benchmark.Workload{
		Name: "semaphores", Sizes: []int{1, 10, 1000}, Unit: "permits", Short: 2, Weight: 5, Subjects: on(semaphores),
	})
}

// contender is a library's lock, of which open makes the next client.
type contender struct {
	name string
	open func() benchmark.Lock
}

// contenders returns the locks that clients with connections of their own compete for: this library's, and those
// of the peers.
func (s *setup) contenders() (all []contender) {
	add := func(name string, lockOf func(c *primitives.Client) locker) {
		all = append(all, contender{name, func() benchmark.Lock { return entering(lockOf(s.client(true))) }})
	}
	add("Mutex", func(c *primitives.Client) locker { return c.NewMutex("shared", nil) })
	add("Lock", func(c *primitives.Client) locker { return c.NewLock("shared", nil) })
	add("FairLock", func(c *primitives.Client) locker { return c.NewFairLock("shared fairly", nil) })
	for _, p := range s.peers(false) {
		all = append(all, contender{p.Name, func() benchmark.Lock {
			return p.Open(s.Setup, true)("shared by " + p.Name)
		}})
	}
	return all
}

// entering returns a lock of this library as peers have theirs.
func entering(lock locker) benchmark.Lock {
	return func(ctx context.Context) (func(context.Context) error, error) {
		lease, err := lock.Lock(ctx)
		if err != nil {
			return nil, err
		}
		return lease.Release, nil
	}
}

// handOver has each client enter one lock, hold it for the time, and leave it.
func (s *setup) handOver(stay time.Duration) (all []benchmark.Subject) {
	for _, c := range s.contenders() {
		locks := make([]benchmark.Lock, s.Size)
		for i := range locks {
			locks[i] = c.open()
		}
		all = append(all, benchmark.Subject{Name: c.name, Turn: func(ctx context.Context) (benchmark.Outcome, error) {
			return compete(ctx, locks, 10*s.Turn, stay)
		}})
	}
	return all
}

// stuckAfter is how long after the end of a turn clients that still wait are given up, and counted as stuck. A release
// may take as long.
const stuckAfter = 5 * time.Second

// contest is a turn of clients that compete. It ends when its time is over and each client that waited then was
// served once more; shares are those of the time.
type contest struct {
	stay  time.Duration
	over  atomic.Bool
	stuck atomic.Int64
}

// compete lets clients enter their locks and leave them for a while.
func compete(ctx context.Context, locks []benchmark.Lock, lasts, stay time.Duration) (benchmark.Outcome, error) {
	c := &contest{stay: stay}
	defer time.AfterFunc(lasts, func() { c.over.Store(true) }).Stop()
	limited, cancel := context.WithTimeout(ctx, lasts+stuckAfter)
	defer cancel()
	served, waits := make([]int, len(locks)), make([][]time.Duration, len(locks))
	start := time.Now()
	ops, err := sideBySide(limited, make([]use, len(locks)), func(ctx context.Context, i int, _ use) (_ int, err error) {
		waits[i], served[i], err = c.take(ctx, locks[i])
		return len(waits[i]), err
	})
	return benchmark.Outcome{
		Ops: ops, Took: time.Since(start), Served: served, Waits: slices.Concat(waits...),
		Other: map[string]float64{"stuck": float64(c.stuck.Load())},
	}, err
}

// take enters a lock again and again, at least once. It returns how long it waited each time, and how often it was
// served in time.
func (c *contest) take(ctx context.Context, lock benchmark.Lock) (waits []time.Duration, served int, err error) {
	for first := true; first || !c.over.Load(); first = false {
		begin := time.Now()
		unlock, err := lock(ctx)
		switch {
		case ranOut(ctx, err):
			c.stuck.Add(1)
			return waits, served, nil
		case err != nil:
			return waits, served, err
		}
		waits = append(waits, time.Since(begin))
		if !c.over.Load() {
			served++
		}
		if c.stay > 0 { // The work that the lock is for.
			time.Sleep(c.stay)
		}
		if err = leave(ctx, unlock); err != nil {
			return waits, served, err
		}
	}
	return waits, served, nil
}

// ranOut reports whether an error came of the end of ctx's time.
func ranOut(ctx context.Context, err error) bool {
	return err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded)
}

// leave releases a lock, even if ctx has ended: a lock that stayed held would stop all other clients.
func leave(ctx context.Context, unlock func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stuckAfter)
	defer cancel()
	return unlock(ctx)
}

// readWrite has clients read, and in some of their turns write, under one lock.
func (s *setup) readWrite(writes float64) []benchmark.Subject {
	every := int(1 / writes)
	uses := make([]use, s.Size)
	for i := range uses {
		lock := s.client(true).NewReadWriteLock("shared", nil)
		turns := i
		uses[i] = func(ctx context.Context) error {
			side := locker(lock.ReadLock())
			if turns++; turns%every == 0 {
				side = lock.WriteLock()
			}
			return leased(side.Lock)(ctx)
		}
	}
	return []benchmark.Subject{{Name: "ReadWriteLock", Turn: ForAWhile(5*s.Turn, uses)}}
}

// semaphores has 64 goroutines of 8 clients compete for permits, of which the size is how many there are.
func semaphores(s *setup) []benchmark.Subject {
	const callers, clients = 64, 8
	kinds := []struct {
		name string
		make func(c *primitives.Client) (use, error)
	}{
		{"Semaphore", func(c *primitives.Client) (use, error) {
			s1 := c.NewSemaphore("plain", nil)
			_, err := s1.InitPermits(context.Background(), s.Size)
			return func(ctx context.Context) error {
				if err := s1.Acquire(ctx, 1); err != nil {
					return err
				}
				return s1.Release(ctx, 1)
			}, err
		}},
		{"PermitSemaphore", func(c *primitives.Client) (use, error) {
			s1 := c.NewPermitSemaphore("permits", nil)
			_, err := s1.InitPermits(context.Background(), s.Size)
			return leased(func(ctx context.Context) (*primitives.Lease, error) { return s1.Acquire(ctx, 1) }), err
		}},
		{"ByTime", func(c *primitives.Client) (use, error) {
			return leased(c.NewCountingSemaphore("by time", s.Size, nil).Acquire), nil
		}},
		{"ByArrival", func(c *primitives.Client) (use, error) {
			o := &primitives.CountingSemaphoreOptions{Order: primitives.ByArrival}
			return leased(c.NewCountingSemaphore("by arrival", s.Size, o).Acquire), nil
		}},
	}
	var all []benchmark.Subject
	var own []*primitives.Client
	for range clients {
		own = append(own, s.client(true))
	}
	for _, kind := range kinds {
		var uses []use
		for i := range callers {
			call, err := kind.make(own[i%clients])
			s.Must(err)
			uses = append(uses, call)
		}
		all = append(all, benchmark.Subject{Name: kind.name, Turn: ForAWhile(5*s.Turn, uses)})
	}
	return all
}
