package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// waitingCases are about who gets what another has held, and when.
var waitingCases = []leaseCase{
	{"ExpiryWakesAWaiter", "Waiting", nil, byMessages, func(ctx context.Context, a, _ user) {
		a.seize(ctx, a.Env, a.Name, 400*time.Millisecond)
		a.later(ctx).unlock(ctx)
	}},
	{"TakesOneRoundTrip", "RoundTrip Waiting", record, warm(plain), func(ctx context.Context, a, _ user) {
		const pairs = 10
		commands := harness.Matching(sent(ctx, a.Env, func() {
			for range pairs {
				unlock(ctx, a.acquire(ctx))
			}
		}), a.Tag)
		must.If(len(commands) != 2*pairs, "%d pairs took %d commands: %q", pairs, len(commands), commands)
	}},
	{"ManyNamesAreWaitedFor", "Waiting", pubsub, byMessages, func(ctx context.Context, a, b user) {
		const names = 100
		frees, waits := make([]func(), names), make([]*waiting, names)
		must.Together(names, func(i int) { // One by one they would be minutes of round trips on a busy machine.
			name := fmt.Sprintf("%s:%d", a.Tag, i) // over all slots
			frees[i] = a.occupy(ctx, a.of(name).Named)
			waits[i] = b.of(name).later(ctx)
		})
		must.Together(names, func(i int) {
			frees[i]()
			waits[i].unlock(ctx)
		})
	}},
}

// alone are the cases that nothing else may run beside.
var alone = []string{"WaitersSurviveARestart", "WaitersSurviveAMigration"}

// faultCases are about acquires while links and servers fail.
var faultCases = []leaseCase{
	{"SlowLinkAcquires", "Waiting", link, plain, func(ctx context.Context, a, _ user) {
		a.link.Delay(25 * time.Millisecond)
		for range 3 {
			a.withinAPoll(ctx)
		}
	}},
	{"StalledLinkAcquires", "Waiting", link, plain, func(ctx context.Context, a, _ user) {
		for range 5 { // Each finds the link held up for once, after the release before.
			a.link.Delay(30 * time.Millisecond)
			time.AfterFunc(60*time.Millisecond, a.link.Restore)
			a.withinAPoll(ctx)
		}
	}},
	{"WaitersSurviveARestart", "Waiting", append(pubsub, harness.Restart), byMessages, func(
		ctx context.Context, a, _ user,
	) {
		waits := make([]*waiting, 5)
		for i := range waits {
			one := a.of(a.Key(fmt.Sprint(i)))
			a.seize(ctx, a.Env, one.Name, 0)
			waits[i] = one.later(ctx)
			one.awaitWaiters(ctx, 1)
		}
		must.Do(a.Restart(ctx, false)) // All is free, and no message says so.
		for i, w := range waits {
			// A waiter whose script met the broken connection gets an error: it does not hang.
			_, err := w.soon()
			must.If(err != nil && !errors.Is(err, backend.ErrIndeterminate), "waiter %d: %w", i, err)
		}
	}},
	{"WaitersSurviveAMigration", "Waiting", append(pubsub, harness.Migrate), byMessages, func(
		ctx context.Context, a, b user,
	) {
		free := a.occupy(ctx, a.Named)
		waits := b.later(ctx)
		b.awaitWaiters(ctx, 1)
		must.Do(must.Get(a.Migrate(ctx, a.Name))(ctx))
		free()
		waits.unlock(ctx)
	}},
}

// exclusionCases are about what one owner holds at a time.
var exclusionCases = []leaseCase{
	{"Excludes", "Exclusion", nil, plain, func(ctx context.Context, a, b user) {
		var inside atomic.Int64
		turns := 10
		if !a.Capabilities.PubSub {
			turns = 3 // Each takes half a poll.
		}
		must.Together(12, func(i int) {
			for range turns {
				lease := []user{a, b}[i%2].acquire(ctx)
				must.If(inside.Add(1) != 1, "two holders at a time")
				time.Sleep(rand.N(300 * time.Microsecond))
				inside.Add(-1)
				unlock(ctx, lease)
			}
		})
	}},
	{"OnlyReenterShares", "Exclusion", nil, plain, func(ctx context.Context, a, b user) {
		outer := a.acquire(ctx)
		must.In("under the lease's context", func() { a.refused(outer.Context(ctx)) })
		must.In("by another client", func() { b.refused(outer.Reenter(ctx)) })
		unlock(ctx, outer)
		unlock(ctx, must.Get(b.try(ctx)))
	}},
	{"SilentLinkNeverOverlaps", "Lease", link, brief, func(ctx context.Context, a, b user) {
		lease := a.acquire(ctx)
		held := lease.Context(ctx)
		ended := make(chan time.Time, 1)
		go func() { <-held.Done(); ended <- time.Now() }()
		a.link.Blackhole()
		next, err := b.later(ctx).soon()
		granted := time.Now()
		must.Do(err)
		wraps("the first lease, when the second is held,", lease.Err(), primitives.ErrLost)
		late := harness.Await(ctx, "the end of the first's context", ended).Sub(granted)
		must.If(late > 0, "the first's context ended %v after the second's grant", late)
		must.If(lease.Token() > 0 && lease.Token() >= next.Token(), "token %d, then %d", lease.Token(), next.Token())
		unlock(ctx, next)
	}},
}

var brief = users(primitives.Options{WatchdogLease: steadyLease / 4})

// withinAPoll acquires and unlocks, in no more time than a waiter may go without asking the server.
func (u user) withinAPoll(ctx context.Context) {
	const poll = 5 * time.Second // the default of primitives.Options
	bounded, cancel := context.WithTimeout(ctx, poll)
	defer cancel()
	unlock(ctx, u.acquire(bounded))
}

// givingBackCases are about what nobody wants any more, or nobody knows of.
var givingBackCases = []leaseCase{
	{"CancelledAcquiresLeaveNothing", "GivingBack", nil, plain, func(ctx context.Context, a, b user) {
		for range 60 {
			if err := a.randomly(ctx); err != nil {
				must.Wrap(err, context.DeadlineExceeded)
			}
		}
		next := must.Get(b.later(ctx).soon())
		time.Sleep(500 * time.Millisecond) // What the cancelled ones give back must not be this.
		unlock(ctx, next)
	}},
	{"LateGrantIsGivenBack", "GivingBack", link, warm(plain), func(ctx context.Context, a, _ user) {
		a.link.Delay(underWay + 400*time.Millisecond) // The script runs so much after the cancelling.
		a.cancelled(ctx, soonAfter)
		a.granted(ctx)
		a.free(ctx)
		a.link.Restore()
		a.awaitWaiters(ctx, 0)
	}},
	{"LateReleaseTouchesNoLaterHold", "GivingBack", link, warm(plain), func(
		ctx context.Context, a, b user,
	) {
		for range 5 {
			a.link.BlackholeRequests() // Nobody learns that it has not run.
			a.cancelled(ctx, soonAfter)
			a.link.Restore()
			lease := must.Get(b.later(ctx).soon())
			// The releases of the cancelled attempt go on for up to a second or more.
			for range 20 {
				time.Sleep(25 * time.Millisecond)
				b.wantHeld(ctx, lease, 0, defaultLease)
			}
			unlock(ctx, lease)
		}
	}},
	{"CancelledWithoutReplyIsGivenBack", "GivingBack", link, warm(plain), func(
		ctx context.Context, a, _ user,
	) {
		lost := a.link.LoseReply(a.runs)
		a.cancelled(ctx, func(cancel func()) {
			go func() { <-lost; cancel() }()
		}, backend.ErrIndeterminate)
		a.granted(ctx)
		a.free(ctx)
	}},
	{"LostAcquireIsGivenBack", "GivingBack", link, warm(plain), func(ctx context.Context, a, _ user) {
		sentOnce(ctx, a.Env, a.keyOf(a.Name), func() {
			loseReply(ctx, a.link, a.keyOf(a.Name), func() error { _, err := a.try(ctx); return err })
		})
		a.granted(ctx)
		a.free(ctx)
		a.later(ctx).unlock(ctx)
	}},
	{"LostUnlockFrees", "Unlock", link, warm(plain), func(ctx context.Context, a, _ user) {
		lease := a.acquire(ctx)
		// It may be sent again: that is harmless.
		loseReply(ctx, a.link, a.keyOf(a.Name), func() error { return lease.Unlock(ctx) })
		wraps("Err", lease.Err(), primitives.ErrReleased)
		a.free(ctx)
	}},
}

// randomly acquires within a few round trips, and unlocks.
func (u user) randomly(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, rand.N(2*time.Millisecond))
	defer cancel()
	lease, err := u.take(bounded, u.Named, true, 0)
	if err == nil {
		unlock(ctx, lease)
	}
	return err
}

const (
	// prompt is how soon a call must return after its context ended: far more than scheduling costs,
	// far less than the time-outs that a driver may wait for instead.
	prompt = 4 * time.Second
	// underWay is when calls are cancelled that are to be under way. It leaves a slow machine the time
	// to send.
	underWay = 200 * time.Millisecond
)

// soonAfter calls cancel while the call is under way.
func soonAfter(cancel func()) { time.AfterFunc(underWay, cancel) }

// cancelled acquires under a context that is cancelled later, and fails unless the error comes soon
// and wraps want too.
func (u user) cancelled(ctx context.Context, later func(cancel func()), want ...error) {
	err := harness.Promptly(prompt, "the acquire", func() error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		later(cancel)
		_, err := u.take(ctx, u.Named, true, 0)
		return err
	})
	must.Wrap(err, append(want, context.Canceled)...)
}
