package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// semaphoreWaitingCases are about who is woken for permits.
func semaphoreWaitingCases() []Case {
	pubsub := []need{needsPubSub}
	return []Case{
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
	}
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

// checkSemaphorePoll adds permits without a message.
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
