package primitives

import (
	"context"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// leasableByTime is a counting semaphore for which waiters race.
type leasableByTime CountingSemaphore

// Acquire implements [extend.Leasable].
func (s *leasableByTime) Acquire(
	ctx context.Context, r backend.ScriptRunner, owner string, lease time.Duration,
) (int64, extend.Answer, error) {
	asks := s.base.AsksRights()
	result, err := script.CountingAcquire(ctx, r, script.CountingAcquireParams{
		Semaphore: s.base.Key(), Owner: owner, Limit: s.limit, Lease: lease, Publish: s.publish(), Released: s.channel,
		Asks: asks,
	})
	s.base.NoteRights(asks && result.GrantOK)
	return result.Grant, extend.Answer{
		Granted: result.GrantOK, RetryIn: atLeastSome(result.Wait), Free: int(result.Free),
	}, err
}

// Release implements [extend.Leasable].
func (s *leasableByTime) Release(
	ctx context.Context, r backend.ScriptRunner, owner string,
) (bool, error) {
	return script.CountingRelease(ctx, r, s.base.Key(), owner, s.publish(), s.channel)
}

// leasableByArrival is a counting semaphore whose waiters queue.
type leasableByArrival struct {
	*CountingSemaphore
	wait *time.Duration // the waiter timeout of an owner that queues if it is refused; nil: it does not queue
}

// Acquire implements [extend.Leasable].
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

// Release implements [extend.Leasable].
func (s leasableByArrival) Release(
	ctx context.Context, r backend.ScriptRunner, owner string,
) (bool, error) {
	return script.ArrivalRelease(
		ctx, r, s.base.Key(), s.queueKey, owner, s.limit, s.publish(), s.channel)
}

// countingKind renews and releases many holds of a client.
type countingKind struct{ core *extend.Core }

// Renew implements [extend.LeasableKind].
func (countingKind) Renew(
	ctx context.Context, r backend.ScriptRunner, keys, owners []string, lease time.Duration,
) ([]extend.Status, error) {
	statuses, err := script.CountingRenew(ctx, r, keys, lease, owners)
	if err != nil {
		return nil, fmt.Errorf("renew counting semaphores: %w", err)
	}
	return statusesOf(statuses), nil
}

// ReleaseAll implements [extend.LeasableKind].
func (k countingKind) ReleaseAll(
	ctx context.Context, r backend.ScriptRunner, keys, owners []string,
) ([]extend.Status, error) {
	statuses, err := script.CountingReleaseAll(
		ctx, r, keys, k.core.Capabilities().Publish(), owners, countingChannels(keys))
	if err != nil {
		return nil, fmt.Errorf("release counting semaphores: %w", err)
	}
	return statusesOf(statuses), nil
}

// countingChannels returns the channel of each semaphore.
func countingChannels(keys []string) []string {
	channels := make([]string, len(keys))
	for i, key := range keys {
		channels[i] = extend.SideName(countingChannel, key)
	}
	return channels
}

// arrivalKind renews many holds of one limit, and releases holds and places in queues.
type arrivalKind struct {
	countingKind
	limit int64
}

// ReleaseAll implements [extend.LeasableKind].
func (k arrivalKind) ReleaseAll(
	ctx context.Context, r backend.ScriptRunner, keys, owners []string,
) ([]extend.Status, error) {
	objects := make([]string, 0, 2*len(keys))
	for _, key := range keys {
		objects = append(objects, key, extend.Tagged(key)+countingQueueKey)
	}
	statuses, err := script.ArrivalReleaseAll(
		ctx, r, objects, k.limit, k.core.Capabilities().Publish(), owners, countingChannels(keys))
	if err != nil {
		return nil, fmt.Errorf("release counting semaphores: %w", err)
	}
	return statusesOf(statuses), nil
}
