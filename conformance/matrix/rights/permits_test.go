package rights

import (
	"context"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

func usePermits(ctx context.Context, client *primitives.Client) {
	for _, end := range []func(s *primitives.PermitSemaphore){
		func(s *primitives.PermitSemaphore) { must.Get(s.Expire(ctx, time.Hour)) },
		func(s *primitives.PermitSemaphore) { must.Get(s.ExpireAt(ctx, time.Now().Add(time.Hour))) },
	} {
		s := client.NewPermitSemaphore("declared:permits", &primitives.PermitSemaphoreOptions{Permits: 2})
		lease := must.Get(s.Acquire(ctx, 1))
		end(s)
		must.Get(s.Persist(ctx))
		time.Sleep(15 * time.Second) // virtual: the watchdog renews
		end(s)
		id := primitives.PermitIDs(lease)[0]
		must.Get(s.Remaining(ctx, id))
		must.Do(s.UpdateLease(ctx, id, time.Minute))
		must.Do(s.SetPermits(ctx, 4))
		must.Do(s.AddPermits(ctx, 1))
		must.Get(s.AvailablePermits(ctx))
		must.Do(must.Get(s.TryAcquire(ctx, 2)).Release(ctx))
		must.Refuse[*primitives.Lease]("TryAcquire", primitives.ErrNotAcquired)(s.TryAcquire(ctx, 5))
		must.Do(s.Release(ctx, id))
		must.Refuse[*primitives.Lease]("TryAcquire", primitives.ErrAboveTotal)(s.TryAcquire(ctx, 9))
		must.Get(s.Delete(ctx))
		must.Get(s.InitPermits(ctx, 1))
		must.Get(s.Delete(ctx))
		must.Do(s.AddPermits(ctx, 1))
		must.Get(s.Delete(ctx))
	}
	for i := range 2 {
		s := client.NewPermitSemaphore(fmt.Sprint(lostReply, "permits", i), &primitives.PermitSemaphoreOptions{Permits: 1})
		go func() { _, _ = s.TryAcquire(ctx, 1) }()
	}
	time.Sleep(time.Second) // virtual: both are given back together
}
