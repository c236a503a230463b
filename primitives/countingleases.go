package primitives

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// leasableByTime is a counting semaphore for which waiters race.
type leasableByTime CountingSemaphore

func (s *leasableByTime) Acquire(
	ctx context.Context, r backend.ScriptRunner, owner string, lease time.Duration,
) (int64, extend.Answer, error) {
	result, err := script.CountingAcquire(ctx, r, script.CountingAcquireParams{
		Semaphore: s.base.Key(), Owner: owner, Limit: s.limit, Lease: lease, Publish: s.publish(), Released: s.channel,
		Asks: s.base.AsksRights(),
	})
	return result.Grant, extend.Answer{
		Granted: result.GrantOK, RetryIn: atLeastSome(result.Wait), Free: int(result.Free),
	}, err
}

func (s *leasableByTime) Release(ctx context.Context, r backend.ScriptRunner, owner string) (bool, error) {
	return script.CountingRelease(ctx, r, s.base.Key(), owner, s.publish(), s.channel)
}

// leasableByArrival is a counting semaphore whose waiters queue.
type leasableByArrival struct {
	*CountingSemaphore
	wait *time.Duration // the waiter timeout of an owner that queues if it is refused; nil: it does not queue
}

func (s leasableByArrival) Acquire(
	ctx context.Context, r backend.ScriptRunner, owner string, lease time.Duration,
) (int64, extend.Answer, error) {
	result, err := script.ArrivalAcquire(ctx, r, script.ArrivalAcquireParams{
		Semaphore: s.base.Key(), Queue: s.queueKey, Counter: s.counterKey(), Owner: owner, Limit: s.limit,
		Lease: lease, WaiterTimeout: s.wait, Publish: s.publish(), Turn: s.channel,
	})
	answer := extend.Answer{Granted: result.GrantOK}
	if err == nil && !answer.Granted {
		answer.RetryIn, answer.Queued = retryWithin(s.waiterTimeout, result.Wait), s.wait != nil
	}
	return result.Grant, answer, err
}

func (s leasableByArrival) Release(ctx context.Context, r backend.ScriptRunner, owner string) (bool, error) {
	return script.ArrivalRelease(
		ctx, r, s.base.Key(), s.queueKey, owner, s.limit, s.publish(), s.channel)
}

// countingScripts renew and release many holds of a client.
var countingScripts = &leaseScripts{
	objects: "counting semaphores", channel: sideNames(countingChannel),
	renew: renewing(script.CountingRenew, onlyStatuses), release: publishing(script.CountingReleaseAll),
}

// arrivalScripts renew many holds of one limit, and release holds and places in queues.
var arrivalScripts = &leaseScripts{
	objects: "counting semaphores", channel: sideNames(countingChannel),
	renew: renewing(script.CountingRenew, onlyStatuses),
	freed: func(key, _ string) []string { return []string{key, extend.Tagged(key) + countingQueueKey} },
	release: func(
		ctx context.Context, r backend.ScriptRunner, k leaseKind, keys, owners, channels []string,
	) ([]int64, error) {
		return script.ArrivalReleaseAll(ctx, r, keys, k.limit, k.publish, owners, channels)
	},
}
