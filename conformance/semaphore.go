package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// semaphoreCases are about how many permits there are, and the messages about them.
func semaphoreCases() []Case {
	return []Case{
		{Name: "SemaphoreCounts", Clause: "Semaphore.Counts", check: checkSemaphoreCounts},
		{Name: "SemaphoreMissingHasNoPermits", Clause: "Semaphore.Counts", check: checkNoSemaphore},
		{Name: "SemaphoreLimits", Clause: "Semaphore.Limit", check: checkSemaphoreLimit},
		{Name: "SemaphoreOverflow", Clause: "Semaphore.Counts", check: checkSemaphoreOverflow},
		{Name: "SemaphoreConflict", Clause: "Semaphore.Counts", check: checkSemaphoreConflict},
		{Name: "SemaphoreLife", Clause: "Semaphore.Counts", check: checkSemaphoreLife},
		{Name: "SemaphoreBadInput", Clause: "Semaphore.Counts", check: checkSemaphoreInput},
		{
			Name: "SemaphoreMessagesAreRedissons", Clause: "Semaphore.Wire",
			needs: []need{needsPubSub}, check: checkSemaphoreMessages,
		},
	}
}

func checkSemaphoreCounts(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	s := c.NewSemaphore(e.key("permits"), nil)
	return errors.Join(
		expect("TrySetPermits", true)(s.TrySetPermits(ctx, 3)),
		expect("TrySetPermits of one that is set", false)(s.TrySetPermits(ctx, 5)),
		s.Acquire(ctx, 2),
		expect("AvailablePermits", 1)(s.AvailablePermits(ctx)),
		matches(s.TryAcquire(ctx, 2), primitives.ErrNotAcquired),
		s.TryAcquire(ctx, 1),
		expect("TrySetPermits of an exhausted one", false)(s.TrySetPermits(ctx, 5)),
		s.Release(ctx, 3),
		expect("DrainPermits", 3)(s.DrainPermits(ctx)),
		expect("DrainPermits of none", 0)(s.DrainPermits(ctx)),
		s.AddPermits(ctx, 4),
		s.AddPermits(ctx, -6),
		expect("AvailablePermits", -2)(s.AvailablePermits(ctx)),
		expect("DrainPermits of less than none", 0)(s.DrainPermits(ctx)),
		expect("ReleaseIfExists", true)(s.ReleaseIfExists(ctx, 2)),
		expect("AvailablePermits", 0)(s.AvailablePermits(ctx)),
		expect("Delete", true)(s.Delete(ctx)),
	)
}

// checkNoSemaphore waits for a semaphore that somebody makes later.
func checkNoSemaphore(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, &primitives.Options{PollInterval: 100 * time.Millisecond})
	if err != nil {
		return err
	}
	s := c.NewSemaphore(e.key("permits"), nil)
	waiting := beside(func() error { return s.Acquire(ctx, 1) })
	if err := errors.Join(
		expect("AvailablePermits", 0)(s.AvailablePermits(ctx)),
		matches(s.TryAcquire(ctx, 1), primitives.ErrNotAcquired),
		expect("ReleaseIfExists", false)(s.ReleaseIfExists(ctx, 1)),
		expect("Exists", false)(s.Exists(ctx)),
		expect("Delete", false)(s.Delete(ctx)),
		notYet("Acquire", waiting),
		expect("TrySetPermits", true)(s.TrySetPermits(ctx, 2)),
		finished("Acquire", waiting),
		expect("Delete", true)(s.Delete(ctx)),
		s.Release(ctx, 1),
	); err != nil {
		return err
	}
	return e.wantText(ctx, s.Name(), "1")
}

// checkSemaphoreLimit lets many go in at once, and counts them.
func checkSemaphoreLimit(ctx context.Context, e *env) error {
	const limit, rounds = 3, 8
	clients, err := e.newClients(ctx, 3)
	if err != nil {
		return err
	}
	name := e.key("permits")
	if _, err := clients[0].NewSemaphore(name, nil).TrySetPermits(ctx, limit); err != nil {
		return err
	}
	var inside, most atomic.Int64
	var all sync.WaitGroup
	failed := make([]error, 12)
	for i := range failed {
		s, n := clients[i%len(clients)].NewSemaphore(name, nil), 1+i%limit
		all.Go(func() {
			for range rounds {
				failed[i] = errors.Join(failed[i], visit(ctx, s, n, &inside, &most))
			}
		})
	}
	all.Wait()
	if got := most.Load(); got > limit {
		return fmt.Errorf("%d permits were held at once, of %d", got, limit)
	}
	return errors.Join(errors.Join(failed...), e.wantText(ctx, name, fmt.Sprint(limit)))
}

// visit takes n permits for a moment.
func visit(ctx context.Context, s *primitives.Semaphore, n int, inside, most *atomic.Int64) error {
	if err := s.Acquire(ctx, n); err != nil {
		return err
	}
	now := inside.Add(int64(n))
	for was := most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
	}
	time.Sleep(time.Millisecond)
	inside.Add(-int64(n))
	return s.Release(ctx, n)
}

func checkSemaphoreOverflow(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	s := c.NewSemaphore(e.key("permits"), nil)
	return errors.Join(
		expect("TrySetPermits", true)(s.TrySetPermits(ctx, math.MaxInt32)),
		matches(s.Release(ctx, 1), primitives.ErrOverflow),
		matches(s.AddPermits(ctx, math.MaxInt32), primitives.ErrOverflow),
		e.wantText(ctx, s.Name(), fmt.Sprint(math.MaxInt32)),
		s.Acquire(ctx, math.MaxInt32),
		s.AddPermits(ctx, -math.MaxInt32),
		matches(s.AddPermits(ctx, -2), primitives.ErrOverflow),
		e.wantText(ctx, s.Name(), fmt.Sprint(-math.MaxInt32)),
	)
}

// checkSemaphoreConflict gives the name to other things: nothing is touched.
func checkSemaphoreConflict(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	hash, text := c.NewSemaphore(e.key("hash"), nil), c.NewSemaphore(e.key("text"), nil)
	lease, err := c.NewLock(hash.Name(), nil).Lock(ctx)
	if err != nil {
		return err
	}
	if err := e.do(ctx, "SET", text.Name(), "1.5"); err != nil {
		return err
	}
	for _, s := range []*primitives.Semaphore{hash, text} {
		_, drainErr := s.DrainPermits(ctx)
		_, queryErr := s.AvailablePermits(ctx)
		if err := errors.Join(
			matches(s.TryAcquire(ctx, 1), primitives.ErrConflict),
			matches(s.Release(ctx, 1), primitives.ErrConflict),
			matches(drainErr, primitives.ErrConflict),
			matches(queryErr, primitives.ErrConflict),
		); err != nil {
			return err
		}
	}
	_, setErr := hash.TrySetPermits(ctx, 1)
	_, deleteErr := hash.Delete(ctx)
	_, expireErr := hash.Expire(ctx, time.Hour)
	_, existsErr := hash.Exists(ctx)
	return errors.Join(
		matches(setErr, primitives.ErrConflict), matches(deleteErr, primitives.ErrConflict),
		matches(expireErr, primitives.ErrConflict), matches(existsErr, primitives.ErrConflict),
		e.wantText(ctx, text.Name(), "1.5"), lease.Unlock(ctx),
	)
}

// checkSemaphoreLife: the end that was set stays whatever is taken and released.
func checkSemaphoreLife(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	s := c.NewSemaphore(e.key("permits"), &primitives.SemaphoreOptions{Life: time.Hour})
	_, err = s.TrySetPermits(ctx, 5)
	if err := errors.Join(err, s.Acquire(ctx, 1), s.Release(ctx, 1), s.AddPermits(ctx, -1)); err != nil {
		return err
	}
	if _, err := s.DrainPermits(ctx); err != nil {
		return err
	}
	return errors.Join(
		livesFor(time.Hour)(s.RemainingLife(ctx)),
		expect("Persist", true)(s.Persist(ctx)),
		expect("Persist of one without an end", false)(s.Persist(ctx)),
		expect("RemainingLife", primitives.NoExpiry)(s.RemainingLife(ctx)),
		expect("Expire", true)(s.Expire(ctx, 2*time.Hour)),
		livesFor(2*time.Hour)(s.RemainingLife(ctx)),
		expect("ExpireAt", true)(s.ExpireAt(ctx, time.Now().Add(3*time.Hour))),
		livesFor(3*time.Hour)(s.RemainingLife(ctx)),
		expect("ExpireAt in the past", true)(s.ExpireAt(ctx, time.Now().Add(-time.Hour))),
		expect("Exists", false)(s.Exists(ctx)),
		expect("RemainingLife of none", time.Duration(0))(s.RemainingLife(ctx)),
		expect("Expire of none", false)(s.Expire(ctx, time.Hour)),
	)
}

// livesFor returns an error if what RemainingLife returned is not about d.
func livesFor(d time.Duration) func(time.Duration, error) error {
	return func(left time.Duration, err error) error {
		if err != nil || left <= d-Patience || left > d+Patience {
			return fmt.Errorf("RemainingLife returned %v, %w, want about %v", left, err, d)
		}
		return nil
	}
}

func checkSemaphoreInput(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	s := c.NewSemaphore(e.key("permits"), nil)
	tooMany := math.MaxInt32
	tooMany++ // Below 0 where an int has 32 bits.
	for what, err := range map[string]error{
		"Acquire(0)":        s.Acquire(ctx, 0),
		"Acquire(-1)":       s.Acquire(ctx, -1),
		"TryAcquire(2^31)":  s.TryAcquire(ctx, tooMany),
		"Release(0)":        s.Release(ctx, 0),
		"AddPermits(-2^31)": s.AddPermits(ctx, math.MinInt32),
		"name":              c.NewSemaphore("", nil).Acquire(ctx, 1),
		"Life": c.NewSemaphore("x", &primitives.SemaphoreOptions{Life: time.Microsecond}).
			Acquire(ctx, 1),
	} {
		var field *primitives.FieldError
		if !errors.As(err, &field) {
			return fmt.Errorf("%s returned %w, want a FieldError", what, err)
		}
	}
	return e.wantText(ctx, s.Name(), "")
}

// checkSemaphoreMessages listens as Redisson does: it hears how many permits are free, and never of
// less than one, which its decoder does not take.
func checkSemaphoreMessages(ctx context.Context, e *env) error {
	c, in, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	for _, name := range []string{e.key("permits"), e.tag + "-plain"} {
		channel := "redisson_sc:" + name
		if name != e.key("permits") {
			channel = "redisson_sc:{" + name + "}"
		}
		box, sub, err := e.listen(ctx, in.Backend, channel)
		if err != nil {
			return err
		}
		s := c.NewSemaphore(name, nil)
		_, setErr := s.TrySetPermits(ctx, 2)
		if err := errors.Join(setErr, s.Acquire(ctx, 1), s.Release(ctx, 1), s.AddPermits(ctx, 3),
			s.AddPermits(ctx, -9), s.Release(ctx, 1), s.Release(ctx, 5)); err != nil {
			return err
		}
		if err := box.awaitMessages(ctx, "2", "2", "5", "2"); err != nil {
			return err
		}
		sub.Cancel()
	}
	return nil
}
