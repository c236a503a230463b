package permits

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// cases are those of several permits, and of their ids.
func cases() []harness.Case {
	pubsub := []harness.Need{harness.PubSub}
	return []harness.Case{
		newCase("WakesWhoFits", "Waiting", pubsub, wakesWhoFits),
		newCase("WakesAllWhoFit", "Waiting", pubsub, wakesAllWhoFit),
		newCase("FewAndFewWakeOneForMany", "Waiting", pubsub, fewAndFew),
		newCase("EndsOfLeasesWakeAWaiterForMany", "Waiting", pubsub, endsWake),
		newCase("IDsAreReleasedTogether", "IDs", nil, releasedTogether),
		newCase("ExpiredIDIsRefused", "IDs", nil, expiredIsRefused),
		newCase("HoldIsWhole", "IDs", nil, holdIsWhole),
		newCase("IsMadeOnce", "Limit", nil, isMadeOnce),
		newCase("CountsWhatIsTaken", "Counts", nil, countsWhatIsTaken),
		newCase("LeasesEndWithTheCount", "Life", nil, endTogether),
		newCase("ForgottenLeasesAreVoid", "Limit", nil, forgottenAreVoid),
	}
}

func newCase(
	name, clause string, needs []harness.Need, run func(context.Context, *harness.Env),
) harness.Case {
	return harness.NewCase(Promises, "PermitSemaphore"+name, "PermitSemaphore."+clause, needs, run)
}

// taking is an acquire beside the case.
type taking struct {
	lease *primitives.Lease // once done has got nil
	done  <-chan error
}

func later(ctx context.Context, s *primitives.PermitSemaphore, n int) *taking {
	w := new(taking)
	w.done = must.Beside(func() { w.lease = must.Get(s.Acquire(ctx, n)) })
	return w
}

// full returns n semaphores of one name, each of a client of its own, of which the first has all permits,
// by a lease each.
func full(
	ctx context.Context, e *harness.Env, name string, clients, total int,
) (all []*primitives.PermitSemaphore, leases []*primitives.Lease) {
	for _, c := range engine.Clients(ctx, e, clients) {
		all = append(all, c.NewPermitSemaphore(e.Key(name), nil))
	}
	must.Return("TrySetPermits", true)(all[0].TrySetPermits(ctx, total))
	for range total {
		leases = append(leases, must.Get(all[0].TryAcquire(ctx, 1)))
	}
	return all, leases
}

// channel is where the messages of a semaphore go.
func channel(s *primitives.PermitSemaphore) string { return engine.SideName("redisson_sc:", s.Name()) }

// wakesWhoFits has a waiter for two before one for one, on two clients and on one.
func wakesWhoFits(ctx context.Context, e *harness.Env) {
	for i, other := range []int{2, 1} {
		all, leases := full(ctx, e, fmt.Sprint("permits", i), 3, 2)
		two := later(ctx, all[1], 2)
		e.AwaitSubscribers(ctx, channel(all[1]), 1)
		one := later(ctx, all[other], 1)
		must.Do(leases[0].Release(ctx))
		harness.Finish("the waiter for one", one.done)
		harness.NotYet("the waiter for two", two.done)
		must.Do(one.lease.Release(ctx))
		must.Do(leases[1].Release(ctx))
		harness.Finish("the waiter for two", two.done)
		must.Return("AvailablePermits", 0)(all[0].AvailablePermits(ctx))
	}
}

func wakesAllWhoFit(ctx context.Context, e *harness.Env) {
	all, leases := full(ctx, e, "permits", 4, 1)
	var waiting []*taking
	for i := range 3 {
		waiting = append(waiting, later(ctx, all[1+i], 1+i))
	}
	e.AwaitSubscribers(ctx, channel(all[0]), 3)
	must.Do(all[0].SetPermits(ctx, 7))
	for _, w := range waiting {
		harness.Finish("a waiter", w.done)
	}
	must.Do(leases[0].Release(ctx))
	must.Return("AvailablePermits", 1)(all[0].AvailablePermits(ctx))
}

// fewAndFew releases two permits by two messages of which none is enough.
func fewAndFew(ctx context.Context, e *harness.Env) {
	all, leases := full(ctx, e, "permits", 2, 3)
	two := later(ctx, all[1], 2)
	e.AwaitSubscribers(ctx, channel(all[1]), 1)
	must.Do(leases[0].Release(ctx))
	harness.NotYet("the waiter for two", two.done)
	must.Do(leases[1].Release(ctx))
	harness.Finish("the waiter for two", two.done)
}

// endsWake has somebody wait for two permits, of which one is released with a message that is not enough for
// it, and taken by one who crashes: nothing but that lease's end says that there are two.
func endsWake(ctx context.Context, e *harness.Env) {
	all, leases := full(ctx, e, "permits", 2, 2)
	two := later(ctx, all[1], 2)
	e.AwaitSubscribers(ctx, channel(all[1]), 1)
	must.Do(leases[0].Release(ctx))
	must.Get(all[0].AvailablePermits(ctx))
	e.Command(ctx, "DECR", all[0].Name())
	items := must.Get(must.Get(e.Do(ctx, all[0].Name(), "TIME")).Tuple(2))
	ends := fmt.Sprint(must.Get(items[0].Int())*1000 + 1500)
	e.Command(ctx, "ZADD", setOf(all[0].Name()), ends, unknown)
	must.Do(leases[1].Release(ctx))
	harness.Finish("the waiter for two", two.done)
}

// releasedTogether: one id that is not held keeps all the others.
func releasedTogether(ctx context.Context, e *harness.Env) {
	all, leases := full(ctx, e, "permits", 2, 3)
	var held []primitives.PermitID
	for _, l := range leases {
		held = append(held, primitives.PermitIDs(l)...)
	}
	must.If(len(held) != 3, "%d ids of 3 permits", len(held))
	must.Wrap(all[1].Release(ctx, held[0], held[1], primitives.PermitID{1}), primitives.ErrNotHeld)
	must.Return("AcquiredPermits", 3)(all[0].AcquiredPermits(ctx))
	must.Do(all[1].Release(ctx, held[:2]...))
	must.Wrap(all[1].Release(ctx, held...), primitives.ErrNotHeld)
	must.Return("AcquiredPermits", 1)(all[0].AcquiredPermits(ctx))
	must.Return("AvailablePermits", 2)(all[0].AvailablePermits(ctx))
	must.Wrap(leases[0].Release(ctx), primitives.ErrNotHeld, primitives.ErrLost)
	must.Do(leases[2].Release(ctx))
	must.Return("AvailablePermits", 3)(all[0].AvailablePermits(ctx))
	engine.WantField(all[0].Release(ctx), "ids")
	engine.WantField(all[0].Release(ctx, held[0], held[0]), "ids")
}

// expiredIsRefused: what has expired is free, and is neither released nor given another lease.
func expiredIsRefused(ctx context.Context, e *harness.Env) {
	all, leases := full(ctx, e, "permits", 2, 1)
	id := primitives.PermitIDs(leases[0])[0]
	must.Do(all[1].UpdateLease(ctx, id, time.Hour))
	left := must.Get(all[1].RemainingLease(ctx, id))
	must.If(left <= time.Hour-harness.Patience || left > time.Hour, "%v remain, want about an hour", left)
	must.Do(all[1].UpdateLease(ctx, id, time.Millisecond))
	harness.Eventually(ctx, "the end of the lease", func() bool { return must.Get(all[1].AvailablePermits(ctx)) == 1 })
	must.Return("RemainingLease", time.Duration(0))(all[1].RemainingLease(ctx, id))
	must.Wrap(all[1].UpdateLease(ctx, id, time.Hour), primitives.ErrNotHeld)
	must.Wrap(all[1].Release(ctx, id), primitives.ErrNotHeld)
	must.Wrap(leases[0].Release(ctx), primitives.ErrNotHeld, primitives.ErrLost)
	must.Return("AvailablePermits", 1)(all[1].AvailablePermits(ctx))
	must.Return("TotalPermits", 1)(all[1].TotalPermits(ctx))
	engine.WantField(all[0].UpdateLease(ctx, id, 0), "d")
}

// holdIsWhole releases one of the three permits of a hold: the holder loses the others, which come back.
func holdIsWhole(ctx context.Context, e *harness.Env) {
	c, _ := engine.NewClient(ctx, e, &primitives.Options{WatchdogLease: harness.Patience / 10})
	s := c.NewPermitSemaphore(e.Key("permits"), &primitives.PermitSemaphoreOptions{Permits: 3})
	lease := must.Get(s.Acquire(ctx, 3))
	must.If(len(primitives.PermitIDs(lease)) != 3, "%v are the ids", primitives.PermitIDs(lease))
	must.Do(s.Release(ctx, primitives.PermitIDs(lease)[1]))
	harness.Await(ctx, "the holder to learn of it", lease.Done())
	must.Wrap(lease.Err(), primitives.ErrLost)
	harness.Eventually(ctx, "the others", func() bool { return must.Get(s.AvailablePermits(ctx)) == 3 })
}

// isMadeOnce has many try at once, on several clients, to be the first.
func isMadeOnce(ctx context.Context, e *harness.Env) {
	clients := engine.Clients(ctx, e, 3)
	var taken atomic.Int64
	must.Together(12, func(i int) {
		s := clients[i%len(clients)].NewPermitSemaphore(e.Key("permits"), &primitives.PermitSemaphoreOptions{Permits: 4})
		if _, err := s.TryAcquire(ctx, 1); err == nil {
			taken.Add(1)
		} else {
			must.Wrap(err, primitives.ErrNotAcquired)
		}
	})
	must.If(taken.Load() != 4, "%d of 4 permits were taken", taken.Load())
	e.WantText(ctx, e.Key("permits"), "0")
}

func countsWhatIsTaken(ctx context.Context, e *harness.Env) {
	all, leases := full(ctx, e, "permits", 1, 2)
	s := all[0]
	counts := func(free, acquired int) {
		must.Return("AvailablePermits", free)(s.AvailablePermits(ctx))
		must.Return("AcquiredPermits", acquired)(s.AcquiredPermits(ctx))
		must.Return("TotalPermits", free+acquired)(s.TotalPermits(ctx))
	}
	counts(0, 2)
	must.Return("TrySetPermits", false)(s.TrySetPermits(ctx, 9))
	must.Do(s.SetPermits(ctx, 1))
	counts(-1, 2)
	must.Do(s.AddPermits(ctx, 3))
	counts(2, 2)
	must.Wrap(s.AddPermits(ctx, 1<<31-1), primitives.ErrOverflow)
	must.Do(leases[0].Release(ctx))
	counts(3, 1)
	must.Return("Delete", true)(s.Delete(ctx))
	counts(0, 0)
	must.Wrap(leases[1].Release(ctx), primitives.ErrNotHeld, primitives.ErrLost)
	must.Return("Exists", false)(s.Exists(ctx))
	must.Refuse[*primitives.Lease]("one of none", primitives.ErrNotAcquired)(s.TryAcquire(ctx, 1))
}

// endTogether: what is taken later ends with the count, too, and Persist keeps both.
func endTogether(ctx context.Context, e *harness.Env) {
	c, _ := engine.NewClient(ctx, e, nil)
	s := c.NewPermitSemaphore(e.Key("permits"), &primitives.PermitSemaphoreOptions{Permits: 3})
	must.Get(s.Acquire(ctx, 1))
	ends := func(want bool) {
		for _, key := range []string{s.Name(), setOf(s.Name())} {
			left := must.Get(e.Command(ctx, "PTTL", key).Duration(time.Millisecond))
			must.If(left > 0 != want || left > time.Hour, "%s ends in %v, want an end: %v", key, left, want)
		}
	}
	ends(false)
	must.Return("Expire", true)(s.Expire(ctx, time.Hour))
	ends(true)
	must.Return("Persist", true)(s.Persist(ctx))
	ends(false)
	must.Return("Delete", true)(s.Delete(ctx))
	must.Return("TrySetPermits", true)(s.TrySetPermits(ctx, 3))
	must.Return("ExpireAt", true)(s.ExpireAt(ctx, time.Now().Add(time.Hour/2)))
	must.Get(s.Acquire(ctx, 1))
	ends(true)
	must.Return("ExpireAt", true)(s.ExpireAt(ctx, time.Now().Add(-time.Hour)))
	must.If(must.Get(e.Command(ctx, "EXISTS", setOf(s.Name())).Int()) != 0, "the leases are still there")
}

// forgottenAreVoid: a semaphore that is made anew has all its permits, and those of the old one are no
// permits of it.
func forgottenAreVoid(ctx context.Context, e *harness.Env) {
	c, _ := engine.NewClient(ctx, e, nil)
	for i, remake := range []func(s *primitives.PermitSemaphore){
		func(s *primitives.PermitSemaphore) { must.Get(s.TryAcquire(ctx, 1)) },
		func(s *primitives.PermitSemaphore) { must.Get(s.TrySetPermits(ctx, 1)) },
		func(s *primitives.PermitSemaphore) { must.Do(s.SetPermits(ctx, 1)) },
		func(s *primitives.PermitSemaphore) { must.Do(s.AddPermits(ctx, 1)) },
	} {
		s := c.NewPermitSemaphore(e.Key(fmt.Sprint("permits", i)), &primitives.PermitSemaphoreOptions{Permits: 1})
		old := must.Get(s.TryAcquire(ctx, 1))
		e.Command(ctx, "DEL", s.Name())
		remake(s)
		must.Return("TotalPermits", 1)(s.TotalPermits(ctx))
		must.Wrap(old.Release(ctx), primitives.ErrNotHeld, primitives.ErrLost)
		must.Return("TotalPermits", 1)(s.TotalPermits(ctx))
	}
}
