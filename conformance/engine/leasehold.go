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
		lease := a.acquireFor(ctx, 500*time.Millisecond)
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
		lease := a.acquireFor(ctx, length)
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
		b.wantHeld(ctx, next, time.Second, defaultLease)
		unlock(ctx, next)
	}},
	{"UnlockOfALostLeaseFreesNothing", "Unlock", nil, plain, func(ctx context.Context, a, b user) {
		lease := a.acquireFor(ctx, 2*time.Second)
		harness.Await(ctx, "the end of the lease", lease.Done())
		next := b.acquire(ctx)
		wraps("Unlock", lease.Unlock(ctx), primitives.ErrNotHeld, primitives.ErrLost)
		b.wantHeld(ctx, next, time.Second, defaultLease)
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
	{"ReenterSharesTheHold", "Reenter", nil, plain, func(ctx context.Context, a, _ user) {
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
		last := must.Get(a.try(inside))
		unlock(ctx, outer)
		must.Do(last.Err())
		a.wantHeld(ctx, outer, time.Second, defaultLease)
		unlock(ctx, last)
		a.free(ctx)
	}},
	{"ReenterRefusesAnotherLease", "Reenter", nil, plain, func(ctx context.Context, a, _ user) {
		outer := a.acquire(ctx)
		_, err := a.take(outer.Reenter(ctx), a.Named, true, time.Second)
		WantField(err, "Lease")
		must.In("after the refusal", func() { must.Do(outer.Err()) })
		a.wantHeld(ctx, outer, 2*time.Second, defaultLease)
		unlock(ctx, outer)
	}},
	{"CloseEndsAll", "Close", nil, plain, func(ctx context.Context, a, _ user) {
		mine := a.of(a.Key("mine"))
		held := mine.acquire(ctx).Context(ctx)
		a.seize(ctx, a.Env, a.Name, 0)
		waits := a.later(ctx)
		a.awaitWaiters(ctx, 1)
		must.In("Close", func() { must.Do(a.Client.Close(ctx)) })
		_, err := waits.soon()
		wraps("the waiter", err, primitives.ErrClosed)
		wraps("the context's cause", context.Cause(held), primitives.ErrClosed)
		mine.free(ctx)
		a.awaitWaiters(ctx, 0)
		must.Do(a.Client.Close(ctx))
	}},
	{"CloseLeavesNoGoroutine", "Close", nil, plain, func(ctx context.Context, a, _ user) {
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
	left := u.left(ctx)
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
	u.Client = must.Get(primitives.New(in.Backend, &primitives.Options{WatchdogLease: time.Second}))
	u.acquire(ctx)
	leaving, leave := context.WithCancel(ctx)
	defer leave()
	leaver := u.later(leaving)
	u.later(ctx)
	time.AfterFunc(500*time.Millisecond, leave)
	wraps("the waiter", <-leaver.done, context.Canceled)
	must.Do(u.Client.Close(ctx))
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
		others := a.seize(ctx, a.Env, a.Name, long)
		harness.Await(ctx, "the holder to learn of its loss", lease.Done())
		wraps("Err", lease.Err(), primitives.ErrLost)
		wraps("Unlock", lease.Unlock(ctx), primitives.ErrNotHeld)
		a.wantKey(ctx, others, long-harness.Patience, long)
	}},
	{"BadKeyCostsOnlyItself", "Renewal", nil, steady, func(ctx context.Context, a, _ user) {
		held := make([]*primitives.Lease, 20)
		for i := range held {
			held[i] = a.of(a.Key(fmt.Sprint(i))).acquire(ctx)
		}
		a.Command(ctx, "SET", a.keyOf(a.Key("7")), "data")
		harness.Await(ctx, "the holder of the bad key to learn of its loss", held[7].Done())
		time.Sleep(steadyLease)
		for i, lease := range held {
			err := lease.Err()
			must.If(i != 7 && err != nil, "lease %d, whose key is good: %w", i, err)
		}
	}},
	{"RelockAfterALossIsRenewed", "Renewal", nil, steady, func(ctx context.Context, a, _ user) {
		lease := a.acquire(ctx)
		a.Command(ctx, "DEL", a.keyOf(a.Name))
		again := must.Get(a.later(ctx).soon())
		stays(ctx, again)
		a.wantHeld(ctx, again, 0, steadyLease)
		wraps("the first lease", lease.Err(), primitives.ErrLost)
		unlock(ctx, again)
	}},
	{"NothingIsSentAfterUnlock", "Renewal", record, steady, func(ctx context.Context, a, _ user) {
		lease := a.acquire(ctx)
		time.Sleep(steadyLease / 2) // It is renewed once.
		unlock(ctx, lease)
		// Longer than from one renewal to the next.
		after := harness.Matching(sent(ctx, a.Env, func() { time.Sleep(steadyLease / 2) }), a.Name)
		must.If(len(after) > 0, "sent after the last Unlock: %q", after)
	}},
	{"LostRenewalIsRepeated", "Renewal", nil, plain, func(ctx context.Context, a, _ user) {
		// It is lost above the backend, which may repeat by itself what it has lost.
		lost, plan := make(chan string, 1), []trouble{{}, {Loss: broken}}
		o := &primitives.Options{WatchdogLease: steadyLease}
		a.Client, _ = ClientOver(ctx, a.Env, o, func(b backend.Backend) backend.Backend {
			return &troubled{
				Backend: b, reach: func(how string) { lost <- how }, plan: troubles{Scripts: plan},
			}
		})
		lease := a.acquire(ctx)
		harness.Await(ctx, "a renewal", lost)
		stays(ctx, lease)
		unlock(ctx, lease)
	}},
	{"BriefOutageKeepsTheHold", "Renewal", link, steady, func(ctx context.Context, a, _ user) {
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
	harness.Eventually(ctx, "the renewal of "+u.Name, func() bool {
		must.Do(lease.Err())
		left := u.left(ctx)
		renewed := left > last
		last = left
		return renewed
	})
}
