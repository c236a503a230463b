package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const lockName = "hasp:quickstart"

// result is what the workers did.
type result struct {
	sections int64 // critical sections
	counter  int64 // the sections by a counter that only the lock protects
	most     int64 // workers inside at once, at most
}

// check returns an error if exclusion was broken.
func (r result) check() error {
	switch {
	case r.sections == 0:
		return errors.New("nobody got the lock")
	case r.most != 1:
		return fmt.Errorf("%d workers were inside at once", r.most)
	case r.counter != r.sections:
		return fmt.Errorf("the counter says %d after %d critical sections", r.counter, r.sections)
	}
	return nil
}

// shop is what the lock guards.
type shop struct {
	counter  atomic.Int64 // read, then written: safe only under the lock
	inside   atomic.Int64
	most     atomic.Int64
	sections atomic.Int64
	handed   atomic.Int64 // grants to another worker than the last
	last     atomic.Int64
	holder   atomic.Pointer[string]
}

// visit is one critical section.
func (s *shop) visit(worker int64, token int64) {
	s.most.Store(max(s.most.Load(), s.inside.Add(1)))
	if s.last.Swap(worker) != worker {
		s.handed.Add(1)
	}
	now := fmt.Sprintf("worker %d holds, token %d", worker, token)
	s.holder.Store(&now)
	count := s.counter.Load()
	time.Sleep(100 * time.Microsecond) // Time for another to spoil it.
	s.counter.Store(count + 1)
	s.sections.Add(1)
	s.inside.Add(-1)
}

// contend lets workers take the lock in turn for the given time, and shows who holds it.
func contend(
	ctx context.Context, out io.Writer, open open, workers int, duration time.Duration,
) (result, error) {
	var s shop
	working, stop := context.WithTimeout(ctx, duration)
	defer stop()
	errs := make(chan error, workers)
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() { errs <- work(working, open, &s, int64(worker+1)) })
	}
	show(working, out, &s)
	all.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return result{}, err
		}
	}
	fmt.Fprintf(out, "%.0f hand-overs per second\n",
		float64(s.handed.Load())/duration.Seconds())
	return result{s.sections.Load(), s.counter.Load(), s.most.Load()}, nil
}

// work is one worker: it visits the shop under the lock until ctx ends.
func work(ctx context.Context, open open, s *shop, worker int64) error {
	client, closeClient, err := open(nil)
	if err != nil {
		return err
	}
	defer closeClient()
	lock := client.NewLock(lockName, nil)
	for {
		lease, err := lock.Lock(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // Time is up.
		}
		if err != nil {
			return err
		}
		s.visit(worker, lease.Token())
		if err := lease.Release(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
}

// show prints who holds the lock, now and then, until ctx ends.
func show(ctx context.Context, out io.Writer, s *shop) {
	ticks := time.NewTicker(300 * time.Millisecond)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			if holder := s.holder.Load(); holder != nil {
				fmt.Fprintf(out, "  %s; %d critical sections\n", *holder, s.sections.Load())
			}
		case <-ctx.Done():
			return
		}
	}
}
