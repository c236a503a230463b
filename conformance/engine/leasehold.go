package engine

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// defaultLease is the watchdog's lease of clients without options.
const defaultLease = 30 * time.Second

// holdCases are about what is held, and how it ends.
var holdCases = []leaseCase{
	{"LeaseEndsByTheClock", "Lease", nil, plain, func(ctx context.Context, a, _ user) {
		lease := must.Get(a.Acquire(ctx, a.client, a.name, 500*time.Millisecond))
		held := lease.Context(ctx)
		harness.Await(ctx, "the end of the lease's context", held.Done())
		harness.Await(ctx, "the lease's Done", lease.Done())
		wraps("the context's cause", context.Cause(held), primitives.ErrLost)
		wraps("Err", lease.Err(), primitives.ErrLost)
		must.If(lease.Remaining() != 0, "%v remain of a lost lease", lease.Remaining())
		late := lease.Context(ctx)
		must.If(late.Err() == nil, "a context of a lost lease has not ended")
		wraps("its cause", context.Cause(late), primitives.ErrLost)
	}},
	{"BeliefEndsBeforeTheServers", "Lease", nil, plain, func(ctx context.Context, a, _ user) {
		const length = 2 * time.Second
		lease := must.Get(a.Acquire(ctx, a.client, a.name, length))
		for granted := time.Now(); a.believes(ctx, lease, length, granted); {
			time.Sleep(10 * time.Millisecond)
		}
	}},
	{"UnlockFreesOnce", "Unlock", nil, plain, func(ctx context.Context, a, b user) {
		lease := a.acquire(ctx)
		held := lease.Context(ctx)
		must.Do(held.Err())
		must.Do(lease.Err())
		unlock(ctx, lease)
		wraps("the context's cause", context.Cause(held), primitives.ErrReleased)
		next := must.Get(b.try(ctx))
		wraps("a second Unlock", lease.Unlock(ctx), primitives.ErrNotHeld, primitives.ErrReleased)
		b.wantHolder(ctx, next.Owner(), time.Second, defaultLease)
		unlock(ctx, next)
	}},
	{"UnlockOfALostLeaseFreesNothing", "Unlock", nil, plain, func(ctx context.Context, a, b user) {
		lease := must.Get(a.Acquire(ctx, a.client, a.name, 2*time.Second))
		harness.Await(ctx, "the end of the lease", lease.Done())
		next := b.acquire(ctx)
		wraps("Unlock", lease.Unlock(ctx), primitives.ErrNotHeld, primitives.ErrLost)
		b.wantHolder(ctx, next.Owner(), time.Second, defaultLease)
		unlock(ctx, next)
	}},
	{"UnlockUnderAnEndedContext", "Unlock", nil, plain, func(ctx context.Context, a, _ user) {
		lease := a.acquire(ctx)
		ended, cancel := context.WithCancel(ctx)
		cancel()
		// The answer may come at once.
		if err := lease.Unlock(ended); err != nil {
			must.Wrap(err, context.Canceled, backend.ErrIndeterminate)
		}
		wraps("Err", lease.Err(), primitives.ErrReleased)
		a.free(ctx)
	}},
	{"ReenterSharesTheHold", "Reenter", nil, plain, func(ctx context.Context, a, b user) {
		outer := a.acquire(ctx)
		inside := outer.Reenter(ctx)
		for range 3 {
			inner := a.acquire(inside)
			must.If(inner.Token() != outer.Token() || inner.Owner() != outer.Owner(),
				"a re-entered lease is another owner's")
			unlock(ctx, inner)
			wraps("a second inner Unlock", inner.Unlock(ctx), primitives.ErrNotHeld)
			must.In("after an inner Unlock", func() { must.Do(outer.Err()) })
		}
		must.In("another client's", func() { b.refused(inside) })
		a.wantHolder(ctx, outer.Owner(), time.Second, defaultLease)
		unlock(ctx, outer)
		a.free(ctx)
	}},
	{"ReenterRefusesAnotherLease", "Reenter", nil, plain, func(ctx context.Context, a, _ user) {
		outer := a.acquire(ctx)
		_, err := a.Acquire(outer.Reenter(ctx), a.client, a.name, time.Second)
		WantField(err, "Lease")
		must.In("after the refusal", func() { must.Do(outer.Err()) })
		a.wantHolder(ctx, outer.Owner(), 2*time.Second, defaultLease)
		unlock(ctx, outer)
	}},
	{"ReenterKeepsTheHoldToTheLast", "Reenter", nil, plain, func(ctx context.Context, a, b user) {
		outer := a.acquire(ctx)
		inner := must.Get(a.try(outer.Reenter(ctx)))
		unlock(ctx, outer)
		must.In("under an inner lease", func() { b.refused(ctx) })
		must.Do(inner.Err())
		unlock(ctx, inner)
		unlock(ctx, must.Get(b.try(ctx)))
	}},
	{"CloseEndsAll", "Close", nil, plain, func(ctx context.Context, a, b user) {
		mine := a.of(a.Key("mine"))
		held := mine.acquire(ctx).Context(ctx)
		other := b.acquire(ctx)
		waits := a.later(ctx)
		a.awaitWaiters(ctx, 1)
		must.In("Close", func() { must.Do(a.client.Close(ctx)) })
		_, err := waits.soon()
		wraps("the waiter", err, primitives.ErrClosed)
		wraps("the context's cause", context.Cause(held), primitives.ErrClosed)
		mine.free(ctx)
		a.awaitWaiters(ctx, 0)
		must.Do(a.client.Close(ctx))
		unlock(ctx, other)
	}},
	{"CloseOfAClientLeavesNoGoroutine", "Close", nil, plain, func(ctx context.Context, a, _ user) {
		a.LeavesNoGoroutine(ctx, a.live)
	}},
}

// believes compares what the holder believes with what the server has, until the end.
func (u user) believes(
	ctx context.Context, lease *primitives.Lease, length time.Duration, granted time.Time,
) (still bool) {
	asked := time.Now()
	believed, since := lease.Remaining(), asked.Sub(granted)
	must.If(believed > max(0, length-length/10-since),
		"the holder believes in %v, %v after a grant of %v", believed, since, length)
	_, left := u.Holder(ctx, u.Env, u.name)
	// Once the belief has ended the holder releases, and there is nothing to compare.
	took := time.Since(asked)
	must.If(took < believed && left+took < believed,
		"the holder believed in %v, the server had %v", believed, left)
	return believed > 0
}

// live leads a client of its own through a short life: held, waiting, renewing and given up.
func (u user) live(ctx context.Context) {
	in := must.Get(u.New(ctx))
	defer in.End()
	u.client = must.Get(primitives.New(in.Backend, &primitives.Options{WatchdogLease: time.Second}))
	u.acquire(ctx)
	leaving, leave := context.WithCancel(ctx)
	defer leave()
	leaver := u.later(leaving)
	u.later(ctx)
	time.AfterFunc(500*time.Millisecond, leave)
	wraps("the waiter", <-leaver.done, context.Canceled)
	must.Do(u.client.Close(ctx))
}

const (
	// steadyLease is one that is renewed in time also on a machine that stands still for seconds.
	steadyLease = 12 * time.Second
	// afterSteady is when a steadyLease has surely ended that was not renewed.
	afterSteady = steadyLease + steadyLease/4
)

// stays fails if the lease ends before a steadyLease would that is not renewed.
func stays(ctx context.Context, lease *primitives.Lease) {
	held := lease.Context(ctx)
	select {
	case <-held.Done():
		must.Fail("lost: %w", context.Cause(held))
	case <-time.After(afterSteady):
	}
}

// renewalCases are about the watchdog.
var renewalCases = []leaseCase{
	{"WatchdogRenews", "Renewal", nil, steady, func(ctx context.Context, a, b user) {
		lease := a.acquire(ctx)
		stays(ctx, lease)
		b.refused(ctx)
		unlock(ctx, lease)
	}},
	{
		// No script may renew what is in different slots.
		"LeasesOfSeveralSlotsAreRenewed", "Renewal", []harness.Need{harness.Cluster},
		users(primitives.Options{WatchdogLease: harness.Patience / 10}), func(ctx context.Context, a, _ user) {
			held := map[string]*primitives.Lease{}
			for _, name := range a.Slots() {
				held[name] = a.of(name).acquire(ctx)
			}
			for name, lease := range held {
				a.of(name).awaitRenewal(ctx, lease)
			}
		},
	},
	{"RenewalMindsTheOwner", "Renewal", nil, steady, func(ctx context.Context, a, _ user) {
		const long = 10 * time.Minute
		lease := a.acquire(ctx)
		a.Lose(ctx, a.Env, a.name)
		owner := a.Foreign(ctx, a.Env, a.name, long)
		harness.Await(ctx, "the holder to learn of its loss", lease.Done())
		wraps("Err", lease.Err(), primitives.ErrLost)
		wraps("Unlock", lease.Unlock(ctx), primitives.ErrNotHeld)
		a.wantHolder(ctx, owner, long-harness.Patience, long)
	}},
	{"BadKeyCostsOnlyItself", "Renewal", nil, steady, func(ctx context.Context, a, _ user) {
		held := make([]*primitives.Lease, 20)
		for i := range held {
			held[i] = a.of(a.Key(fmt.Sprint(i))).acquire(ctx)
		}
		a.Command(ctx, "SET", a.Key("7"), "data")
		harness.Await(ctx, "the holder of the bad key to learn of its loss", held[7].Done())
		time.Sleep(steadyLease)
		for i, lease := range held {
			err := lease.Err()
			must.If(i != 7 && err != nil, "lease %d, whose key is good: %w", i, err)
		}
	}},
	{"RelockAfterALossIsRenewed", "Renewal", nil, steady, func(ctx context.Context, a, _ user) {
		lease := a.acquire(ctx)
		a.Lose(ctx, a.Env, a.name)
		again := must.Get(a.later(ctx).soon())
		stays(ctx, again)
		wraps("the first lease", lease.Err(), primitives.ErrLost)
		unlock(ctx, again)
	}},
	{"NothingIsSentAfterUnlock", "Renewal", record, steady, func(ctx context.Context, a, _ user) {
		lease := a.acquire(ctx)
		time.Sleep(steadyLease / 2) // It is renewed once.
		unlock(ctx, lease)
		// Longer than from one renewal to the next.
		after := harness.Matching(sent(ctx, a.Env, func() { time.Sleep(steadyLease / 2) }), a.name)
		must.If(len(after) > 0, "sent after the last Unlock: %q", after)
	}},
	{"LostRenewalIsRepeated", "Renewal", link, warm(steady), func(ctx context.Context, a, _ user) {
		lease := a.acquire(ctx)
		harness.Await(ctx, "a renewal", a.link.CutReply(a.runs))
		stays(ctx, lease)
		unlock(ctx, lease)
	}},
	{"BriefOutageKeepsTheLock", "Renewal", link, steady, func(ctx context.Context, a, _ user) {
		lease := a.acquire(ctx)
		time.Sleep(steadyLease/3 - steadyLease/10)
		a.link.Refuse() // Longer than from one renewal to the next.
		time.AfterFunc(steadyLease/5, a.link.Restore)
		stays(ctx, lease)
		unlock(ctx, lease)
	}},
}

// awaitRenewal waits until the server's lease has become longer.
func (u user) awaitRenewal(ctx context.Context, lease *primitives.Lease) {
	last := time.Duration(math.MaxInt64)
	harness.Eventually(ctx, "the renewal of "+u.name, func() bool {
		must.Do(lease.Err())
		_, left := u.Holder(ctx, u.Env, u.name)
		renewed := left > last
		last = left
		return renewed
	})
}
