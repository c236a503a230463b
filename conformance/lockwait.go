package conformance

import (
	"context"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// acquired is the outcome of a Lock that runs beside the case.
type acquired struct {
	lease *primitives.Lease
	err   error
}

// lockLater calls Lock beside the case.
func lockLater(ctx context.Context, lock *primitives.Lock) <-chan acquired {
	got := make(chan acquired, 1)
	go func() {
		lease, err := lock.Lock(ctx)
		got <- acquired{lease, err}
	}()
	return got
}

// soon waits for a Lock, for far less than the leases of these cases.
func soon(got <-chan acquired) (*primitives.Lease, error) {
	select {
	case a := <-got:
		return a.lease, a.err
	case <-time.After(Patience / 4):
		return nil, fmt.Errorf("not acquired within %v", Patience/4)
	}
}

// pair makes two clients and their locks of one name.
func (e *env) pair(ctx context.Context, o *primitives.Options) (a, b *primitives.Lock, err error) {
	first, _, err := e.client(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	second, _, err := e.client(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	name := e.key("lock")
	return first.NewLock(name, nil), second.NewLock(name, nil), nil
}

// channel is the channel of the lock of these cases.
func (e *env) channel() string { return "redisson_lock__channel:" + e.key("lock") }

func checkWake(ctx context.Context, e *env) error {
	o := &primitives.Options{PollInterval: never}
	first, _, err := e.client(ctx, o)
	if err != nil {
		return err
	}
	second, _, tries, err := e.countedClient(ctx, o)
	if err != nil {
		return err
	}
	for range 10 {
		lease, err := first.NewLock(e.key("lock"), nil).Lock(ctx)
		if err != nil {
			return err
		}
		before := tries.ended.Load()
		got := lockLater(ctx, second.NewLock(e.key("lock"), nil))
		// Refused once, it learns of the release only by the message, but for the first round, in
		// which the acknowledgement of its subscription makes it try again.
		if err := eventually(ctx, "the refusal", func() (bool, error) {
			return tries.ended.Load() > before, nil
		}); err != nil {
			return err
		}
		if err := lease.Unlock(ctx); err != nil {
			return err
		}
		next, err := soon(got)
		if err != nil {
			return err
		}
		if err := next.Unlock(ctx); err != nil {
			return err
		}
	}
	return nil
}

// foreign makes a hold of another program, without a message when it ends.
func (e *env) foreign(ctx context.Context, key string, lease time.Duration) error {
	_, err := e.Do(ctx, key, "HSET", key, "another:1", "1")
	if err == nil && lease > 0 {
		_, err = e.Do(ctx, key, "PEXPIRE", key, fmt.Sprint(lease.Milliseconds()))
	}
	return err
}

func checkExpiryWakes(ctx context.Context, e *env) error {
	a, _, err := e.pair(ctx, &primitives.Options{PollInterval: never})
	if err != nil {
		return err
	}
	if err := e.foreign(ctx, e.key("lock"), 400*time.Millisecond); err != nil {
		return err
	}
	lease, err := soon(lockLater(ctx, a))
	if err != nil {
		return err
	}
	return lease.Unlock(ctx)
}

func checkPoll(ctx context.Context, e *env) error {
	a, _, err := e.pair(ctx, &primitives.Options{PollInterval: 100 * time.Millisecond})
	if err != nil {
		return err
	}
	if err := e.foreign(ctx, e.key("lock"), 0); err != nil {
		return err
	}
	got := lockLater(ctx, a)
	if e.Capabilities.PubSub {
		if err := e.awaitSubscribers(ctx, e.channel(), 1); err != nil {
			return err
		}
	}
	if _, err := e.Do(ctx, e.key("lock"), "DEL", e.key("lock")); err != nil {
		return err
	}
	lease, err := soon(got)
	if err != nil {
		return err
	}
	return lease.Unlock(ctx)
}

// checkRoundTrips counts what is sent for the lock, by scripts that are loaded.
func checkRoundTrips(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	lock := c.NewLock(e.key("lock"), nil)
	if err := e.warm(ctx, lock); err != nil {
		return err
	}
	stop, err := e.Record(ctx)
	if err != nil {
		return err
	}
	const pairs = 10
	for range pairs {
		lease, err := lock.Lock(ctx)
		if err != nil {
			return err
		}
		if err := lease.Unlock(ctx); err != nil {
			return err
		}
	}
	commands, err := stop()
	if sent := matching(commands, e.tag); err == nil && len(sent) != 2*pairs {
		err = fmt.Errorf("%d pairs of lock and unlock took %d commands: %q", pairs, len(sent), sent)
	}
	return err
}

// checkPassOn releases while waiters give up: those that stay must not miss the wake.
func checkPassOn(ctx context.Context, e *env) error {
	o := &primitives.Options{PollInterval: never}
	first, _, err := e.client(ctx, o)
	if err != nil {
		return err
	}
	second, _, tries, err := e.countedClient(ctx, o)
	if err != nil {
		return err
	}
	a, b := first.NewLock(e.key("lock"), nil), second.NewLock(e.key("lock"), nil)
	// A leaver that gets the lock releases it, so that nothing has to be passed on.
	for rounds, looked := 0, 0; rounds < 15 || looked < 3; rounds++ {
		passed, err := e.passOn(ctx, a, b, tries)
		if err != nil {
			return fmt.Errorf("round %d: %w", rounds, err)
		}
		if passed {
			looked++
		}
	}
	return nil
}

// passOn lets three leave who wait before a fourth, at the time of a release. It reports whether none
// of them got the lock.
func (e *env) passOn(
	ctx context.Context, a, b *primitives.Lock, tries *counter,
) (passed bool, err error) {
	lease, err := a.Lock(ctx)
	if err != nil {
		return false, err
	}
	leaving, leave := context.WithCancel(ctx)
	defer leave()
	before := tries.ended.Load()
	var leavers []<-chan acquired
	for range 3 {
		leavers = append(leavers, lockLater(leaving, b))
	}
	if err := eventually(ctx, "the refusals", func() (bool, error) {
		return tries.ended.Load() >= before+int64(len(leavers)), nil
	}); err != nil {
		return false, err
	}
	stays := lockLater(ctx, b)
	if err := e.awaitSubscribers(ctx, e.channel(), 1); err != nil {
		return false, err
	}
	go leave()
	if err := lease.Unlock(ctx); err != nil {
		return false, err
	}
	passed = true
	for _, got := range leavers {
		if a := <-got; a.err == nil {
			_, passed = a.lease.Unlock(ctx), false
		}
	}
	last, err := soon(stays)
	if err != nil {
		return false, err
	}
	return passed, last.Unlock(ctx)
}
