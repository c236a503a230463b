package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// semaphoreCases are about who gets permits, and when.
func semaphoreCases() []Case {
	pubsub, link := []need{needsPubSub}, []need{needsLink}
	return []Case{
		{Name: "SemaphoreCounts", Clause: "Semaphore.Counts", check: checkSemaphoreCounts},
		{Name: "SemaphoreMissingHasNoPermits", Clause: "Semaphore.Counts", check: checkNoSemaphore},
		{Name: "SemaphoreLimits", Clause: "Semaphore.Limit", check: checkSemaphoreLimit},
		{Name: "SemaphoreOverflow", Clause: "Semaphore.Counts", check: checkSemaphoreOverflow},
		{Name: "SemaphoreConflict", Clause: "Semaphore.Counts", check: checkSemaphoreConflict},
		{Name: "SemaphoreLife", Clause: "Semaphore.Counts", check: checkSemaphoreLife},
		{Name: "SemaphoreBadInput", Clause: "Semaphore.Counts", check: checkSemaphoreInput},
		{
			Name: "SemaphoreWakesWhoFits", Clause: "Semaphore.Waiting",
			needs: pubsub, check: checkWakesWhoFits,
		},
		{
			Name: "SemaphoreWakesAllWhoFit", Clause: "Semaphore.Waiting",
			needs: pubsub, check: checkWakesAllWhoFit,
		},
		{
			Name: "SemaphoreGrantWakesTheNext", Clause: "Semaphore.Waiting",
			needs: pubsub, check: checkGrantWakes,
		},
		{
			Name: "SemaphoreManyWaitForAllAtOnce", Clause: "Semaphore.Waiting",
			needs: pubsub, check: checkManyPermits,
		},
		{Name: "SemaphorePollFindsPermits", Clause: "Semaphore.Waiting", check: checkSemaphorePoll},
		{
			Name: "SemaphoreCancelledWaitersPassTheWakeOn", Clause: "Semaphore.Waiting",
			needs: pubsub, check: checkSemaphorePassOn,
		},
		{
			Name: "SemaphoreReleaseUnderADoneContext", Clause: "Semaphore.GivingBack",
			check: checkReleaseDone,
		},
		{
			Name: "SemaphoreCancelledAcquireComesBack", Clause: "Semaphore.GivingBack",
			needs: link, check: checkCancelledPermits,
		},
		{
			Name: "SemaphoreLostAnswers", Clause: "Semaphore.GivingBack",
			needs: link, check: checkLostPermits,
		},
		{
			Name: "SemaphoreMessagesAreRedissons", Clause: "Semaphore.Wire",
			needs: pubsub, check: checkSemaphoreMessages,
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
		if err := errors.Join(
			matches(s.TryAcquire(ctx, 1), primitives.ErrConflict),
			matches(s.Release(ctx, 1), primitives.ErrConflict),
			matches(drainErr, primitives.ErrConflict),
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
	left, err := s.RemainingLife(ctx)
	if err != nil || left <= time.Minute || left > time.Hour {
		return fmt.Errorf("RemainingLife returned %v, %w, want about an hour", left, err)
	}
	return errors.Join(
		expect("Persist", true)(s.Persist(ctx)),
		expect("Persist of one without an end", false)(s.Persist(ctx)),
		expect("RemainingLife", primitives.NoExpiry)(s.RemainingLife(ctx)),
		expect("Expire", true)(s.Expire(ctx, time.Hour)),
		expect("ExpireAt", true)(s.ExpireAt(ctx, time.Now().Add(-time.Hour))),
		expect("Exists", false)(s.Exists(ctx)),
		expect("RemainingLife of none", time.Duration(0))(s.RemainingLife(ctx)),
		expect("Expire of none", false)(s.Expire(ctx, time.Hour)),
	)
}

func checkSemaphoreInput(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	s := c.NewSemaphore(e.key("permits"), nil)
	for what, err := range map[string]error{
		"Acquire(0)":        s.Acquire(ctx, 0),
		"Acquire(-1)":       s.Acquire(ctx, -1),
		"TryAcquire(2^31)":  s.TryAcquire(ctx, math.MaxInt32+1),
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

// waitFor lets waiters for n permits each wait on one client each, and returns when they are parked.
func (e *env) waitFor(
	ctx context.Context, clients []*primitives.Client, name string, n ...int,
) ([]<-chan error, error) {
	waiting := make([]<-chan error, len(n))
	for i := range n {
		s := clients[i].NewSemaphore(name, nil)
		waiting[i] = beside(func() error { return s.Acquire(ctx, n[i]) })
	}
	return waiting, e.awaitSubscribers(ctx, "redisson_sc:"+name, int64(len(n)))
}

// checkWakesWhoFits has a waiter for five before one for one, on two clients and on one.
func checkWakesWhoFits(ctx context.Context, e *env) error {
	clients, err := e.newClients(ctx, 3)
	if err != nil {
		return err
	}
	for i, together := range []bool{false, true} {
		s := clients[2].NewSemaphore(e.key(fmt.Sprint("permits", i)), nil)
		if _, err := s.TrySetPermits(ctx, 0); err != nil {
			return err
		}
		waiting, err := e.waitFor(ctx, clients, s.Name(), 5)
		if err != nil {
			return err
		}
		other := clients[1]
		if together {
			other = clients[0]
		}
		one := beside(func() error { return other.NewSemaphore(s.Name(), nil).Acquire(ctx, 1) })
		if err := errors.Join(
			s.Release(ctx, 1), finished("the waiter for one", one),
			notYet("the waiter for five", waiting[0]),
			s.Release(ctx, 5), finished("the waiter for five", waiting[0]),
			expect("AvailablePermits", 0)(s.AvailablePermits(ctx)),
		); err != nil {
			return err
		}
	}
	return nil
}

func checkWakesAllWhoFit(ctx context.Context, e *env) error {
	clients, err := e.newClients(ctx, 3)
	if err != nil {
		return err
	}
	s := clients[0].NewSemaphore(e.key("permits"), nil)
	add := map[string]func(context.Context, int) error{"Release": s.Release, "AddPermits": s.AddPermits}
	for name, release := range add {
		waiting, err := e.waitFor(ctx, clients, s.Name(), 1, 2, 3)
		if err != nil {
			return err
		}
		if err := release(ctx, 6); err != nil {
			return err
		}
		for _, done := range waiting {
			if err := finished("a waiter after "+name, done); err != nil {
				return err
			}
		}
	}
	return e.wantText(ctx, s.Name(), "0")
}

// checkGrantWakes publishes less than there is: the rest is passed on by those that are granted.
func checkGrantWakes(ctx context.Context, e *env) error {
	clients, err := e.newClients(ctx, 1)
	if err != nil {
		return err
	}
	same := []*primitives.Client{clients[0], clients[0], clients[0]}
	name := e.key("permits")
	waiting := make([]<-chan error, len(same))
	for i := range same {
		waiting[i] = beside(func() error { return same[i].NewSemaphore(name, nil).Acquire(ctx, 1) })
	}
	if err := errors.Join(
		e.awaitSubscribers(ctx, "redisson_sc:"+name, 1),
		e.do(ctx, "INCRBY", name, "3"), e.publish(ctx, "redisson_sc:"+name, "1"),
	); err != nil {
		return err
	}
	for _, done := range waiting {
		if err := finished("a waiter", done); err != nil {
			return err
		}
	}
	return nil
}

// checkManyPermits: single permits that come and go do not help a waiter for three, but three that
// are free at once do.
func checkManyPermits(ctx context.Context, e *env) error {
	clients, err := e.newClients(ctx, 2)
	if err != nil {
		return err
	}
	s := clients[1].NewSemaphore(e.key("permits"), nil)
	waiting, err := e.waitFor(ctx, clients[:1], s.Name(), 3)
	if err != nil {
		return err
	}
	for range 10 {
		if err := errors.Join(
			s.Release(ctx, 2), s.Acquire(ctx, 2), notYet("the waiter", waiting[0]),
		); err != nil {
			return err
		}
	}
	return errors.Join(s.Release(ctx, 2), s.Release(ctx, 1), finished("the waiter", waiting[0]))
}

// checkSemaphorePoll adds permits and tells nobody.
func checkSemaphorePoll(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, &primitives.Options{PollInterval: 100 * time.Millisecond})
	if err != nil {
		return err
	}
	s := c.NewSemaphore(e.key("permits"), nil)
	var waiting []<-chan error
	for range 3 {
		waiting = append(waiting, beside(func() error { return s.Acquire(ctx, 1) }))
	}
	if e.Capabilities.PubSub {
		if err := e.awaitSubscribers(ctx, "redisson_sc:"+s.Name(), 1); err != nil {
			return err
		}
	}
	if err := e.do(ctx, "INCRBY", s.Name(), "3"); err != nil {
		return err
	}
	for _, done := range waiting {
		if err := finished("a waiter", done); err != nil {
			return err
		}
	}
	return nil
}

// checkSemaphorePassOn releases while waiters give up: one that stays must not miss the wake.
func checkSemaphorePassOn(ctx context.Context, e *env) error {
	clients, err := e.newClients(ctx, 2)
	if err != nil {
		return err
	}
	s := clients[0].NewSemaphore(e.key("permits"), nil)
	for round := range 15 {
		leaving, leave := context.WithCancel(ctx)
		for i := range 3 {
			go func() {
				if s.Acquire(leaving, 1+i) == nil {
					_ = s.Release(ctx, 1+i)
				}
			}()
		}
		stays, err := e.waitFor(ctx, clients[:1], s.Name(), 3)
		if err != nil {
			leave()
			return err
		}
		go leave()
		if err := errors.Join(
			clients[1].NewSemaphore(s.Name(), nil).Release(ctx, 3),
			finished(fmt.Sprintf("the waiter of round %d", round), stays[0]),
		); err != nil {
			return err
		}
	}
	return eventually(ctx, "all permits taken", func() (bool, error) {
		n, err := s.AvailablePermits(ctx)
		return n == 0, err
	})
}

func checkReleaseDone(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	s := c.NewSemaphore(e.key("permits"), nil)
	done, cancel := context.WithCancel(ctx)
	cancel()
	err = s.Release(done, 2)
	if err := errors.Join(
		matches(err, backend.ErrIndeterminate), matches(err, context.Canceled),
		matches(s.Acquire(done, 1), context.Canceled),
	); err != nil {
		return err
	}
	return eventually(ctx, "the release", func() (bool, error) {
		n, err := s.AvailablePermits(ctx)
		return n == 2, err
	})
}

// checkCancelledPermits gives up while the script is on its way: what it takes comes back.
func checkCancelledPermits(ctx context.Context, e *env) error {
	c, in, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	s := c.NewSemaphore(e.key("permits"), nil)
	if err := errors.Join(s.Release(ctx, 3), s.Acquire(ctx, 1), s.Release(ctx, 1)); err != nil {
		return err
	}
	in.Link.Delay(300 * time.Millisecond)
	for left, take := range map[string]func(context.Context) error{
		"1": func(ctx context.Context) error { return s.Acquire(ctx, 2) },
		"2": func(ctx context.Context) error { return s.TryAcquire(ctx, 1) },
		"0": func(ctx context.Context) error { _, err := s.DrainPermits(ctx); return err },
	} {
		if err := e.takesForAMoment(ctx, s.Name(), left, take); err != nil {
			return fmt.Errorf("which leaves %s: %w", left, err)
		}
	}
	return nil
}

// takesForAMoment gives up while take is on its way to leave so many of three permits.
func (e *env) takesForAMoment(
	ctx context.Context, key, left string, take func(context.Context) error,
) error {
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	err := take(short)
	if err := errors.Join(
		matches(err, backend.ErrIndeterminate), matches(err, context.DeadlineExceeded),
	); err != nil {
		return err
	}
	if err := e.awaitText(ctx, key, left); err != nil {
		return err
	}
	return e.awaitText(ctx, key, "3")
}

func (e *env) awaitText(ctx context.Context, key, text string) error {
	return eventually(ctx, fmt.Sprintf("%s to be %q", key, text), func() (bool, error) {
		reply, err := e.Do(ctx, key, "GET", key)
		return same(reply, backend.StringReply(text)), err
	})
}

// checkLostPermits loses the answer to each change: it was made once, and the error says that it may
// have been.
func checkLostPermits(ctx context.Context, e *env) error {
	c, in, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	s := c.NewSemaphore(e.key("permits"), nil)
	if err := errors.Join(s.Release(ctx, 10), s.Acquire(ctx, 1)); err != nil {
		return err
	}
	free := 9
	for _, change := range []struct {
		call func() error
		by   int
	}{
		{func() error { return s.Acquire(ctx, 2) }, -2},
		{func() error { return s.Release(ctx, 3) }, 3},
		{func() error { return s.AddPermits(ctx, -4) }, -4},
	} {
		lost := in.Link.CutReply(func(words []string) bool { return runsScript(words, s.Name()) })
		if err := matches(change.call(), backend.ErrIndeterminate); err != nil {
			return err
		}
		<-lost
		free += change.by
		if err := e.wantText(ctx, s.Name(), fmt.Sprint(free)); err != nil {
			return err
		}
	}
	return nil
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
