package permits

import (
	"context"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// cases are about the ids of permits, and about semaphores that come and go.
func cases() []harness.Case {
	return []harness.Case{
		harness.NewCase(Promises, "PermitSemaphoreIDsAreReleasedTogether", "PermitSemaphore.IDs", nil, releasedTogether),
		harness.NewCase(Promises, "PermitSemaphoreHoldIsWhole", "PermitSemaphore.IDs", nil, holdIsWhole),
		harness.NewCase(Promises, "PermitSemaphoreLeasesEndWithTheCount", "PermitSemaphore.Counts", nil, endTogether),
		harness.NewCase(Promises, "PermitSemaphoreForgottenLeasesAreVoid", "PermitSemaphore.Limit", nil, forgottenAreVoid),
	}
}

// releasedTogether has an unknown id among several: none of them is released.
func releasedTogether(ctx context.Context, e *harness.Env) {
	clients, name := engine.Clients(ctx, e, 2), e.Key("permits")
	s, other := clients[0].NewPermitSemaphore(name, nil), clients[1].NewPermitSemaphore(name, nil)
	must.Return("InitPermits", true)(s.InitPermits(ctx, 3))
	var leases []*primitives.Lease
	var held []primitives.PermitID
	for range 3 {
		l := must.Get(s.TryAcquire(ctx, 1))
		leases, held = append(leases, l), append(held, s.IDs(l)...)
	}
	must.Not(len(held) != 3, "%d ids of 3 permits", len(held))
	must.Wrap(other.Release(ctx, held[0], held[1], primitives.PermitID{1}), primitives.ErrNotHeld)
	must.Return("AcquiredPermits", 3)(s.AcquiredPermits(ctx))
	must.Do(other.Release(ctx, held[:2]...))
	must.Wrap(other.Release(ctx, held...), primitives.ErrNotHeld)
	must.Return("AcquiredPermits", 1)(s.AcquiredPermits(ctx))
	must.Return("AvailablePermits", 2)(s.AvailablePermits(ctx))
	must.Wrap(leases[0].Release(ctx), primitives.ErrNotHeld, primitives.ErrLost)
	must.Do(leases[2].Release(ctx))
	must.Return("AvailablePermits", 3)(s.AvailablePermits(ctx))
}

// holdIsWhole releases one of the three permits of a hold: the holder loses the other two, which come back.
func holdIsWhole(ctx context.Context, e *harness.Env) {
	c, _ := engine.NewClient(ctx, e, &primitives.Options{WatchdogLease: harness.Patience / 10})
	s := c.NewPermitSemaphore(e.Key("permits"), &primitives.PermitSemaphoreOptions{Permits: 3})
	lease := must.Get(s.Acquire(ctx, 3))
	must.Not(len(s.IDs(lease)) != 3, "%v are the ids", s.IDs(lease))
	must.Do(s.Release(ctx, s.IDs(lease)[1]))
	harness.Await(ctx, "the loss", lease.Done())
	must.Wrap(lease.Err(), primitives.ErrLost)
	harness.Eventually(ctx, "the other two to be free", func() bool { return must.Get(s.AvailablePermits(ctx)) == 3 })
}

// endTogether gives the count an end: the leases end with it, also one that is acquired later. Persist keeps both.
func endTogether(ctx context.Context, e *harness.Env) {
	c, _ := engine.NewClient(ctx, e, nil)
	s := c.NewPermitSemaphore(e.Key("permits"), &primitives.PermitSemaphoreOptions{Permits: 3})
	must.Get(s.Acquire(ctx, 1))
	ends := func(want bool) {
		for _, key := range []string{s.Name(), setOf(s.Name())} {
			left := must.Get(e.Command(ctx, "PTTL", key).Duration(time.Millisecond))
			must.Not(left > 0 != want || left > time.Hour, "%s ends in %v, want an end: %v", key, left, want)
		}
	}
	ends(false)
	must.Return("Expire", true)(s.Expire(ctx, time.Hour))
	ends(true)
	must.Return("Persist", true)(s.Persist(ctx))
	ends(false)
	must.Return("Delete", true)(s.Delete(ctx))
	must.Return("InitPermits", true)(s.InitPermits(ctx, 3))
	must.Return("ExpireAt", true)(s.ExpireAt(ctx, time.Now().Add(time.Hour/2)))
	must.Get(s.Acquire(ctx, 1))
	ends(true)
	must.Return("ExpireAt", true)(s.ExpireAt(ctx, time.Now().Add(-time.Hour)))
	must.Not(must.Get(e.Command(ctx, "EXISTS", setOf(s.Name())).Int()) != 0, "the leases are still there")
}

// forgottenAreVoid deletes a semaphore and makes it again: it has all its permits, and the old leases are void.
func forgottenAreVoid(ctx context.Context, e *harness.Env) {
	c, _ := engine.NewClient(ctx, e, nil)
	for i, remake := range []func(s *primitives.PermitSemaphore){
		func(s *primitives.PermitSemaphore) { must.Get(s.TryAcquire(ctx, 1)) },
		func(s *primitives.PermitSemaphore) { must.Get(s.InitPermits(ctx, 1)) },
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
