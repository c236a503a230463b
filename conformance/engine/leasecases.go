package engine

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

var (
	plain = primitives.Options{}
	// renewing has leases that end soon, but not on a machine that stands still for a moment.
	renewing = primitives.Options{WatchdogLease: harness.Patience / 10}
)

// waitingCases are about holders of several names, and about slow links.
var waitingCases = []leaseCase{
	// In a cluster no script may renew what is in different slots, nor behind the one endpoint of a cluster.
	{"LeasesOfSeveralSlotsAreRenewed", "Renewal", nil, renewing, false, func(
		ctx context.Context, a, _ user,
	) {
		held := map[string]*primitives.Lease{}
		for _, name := range a.Slots() {
			held[name] = a.of(name).acquire(ctx)
		}
		for name, lease := range held {
			a.of(name).awaitRenewal(ctx, lease)
		}
	}},
	{"TakesOneRoundTrip", "RoundTrip Waiting", record, plain, true, func(ctx context.Context, a, _ user) {
		const pairs = 10
		commands := harness.Matching(a.sent(ctx, func() {
			for range pairs {
				unlock(ctx, a.acquire(ctx))
			}
		}), a.Tag)
		must.If(len(commands) != 2*pairs, "%d pairs took %d commands: %q", pairs, len(commands), commands)
	}},
	{"SlowLinkAcquires", "Waiting", link, plain, false, func(ctx context.Context, a, _ user) {
		a.link.Delay(25 * time.Millisecond)
		for range 3 {
			a.withinAPoll(ctx)
		}
	}},
	{"StalledLinkAcquires", "Waiting", link, plain, false, func(ctx context.Context, a, _ user) {
		for range 5 { // Each finds the link held up for once, after the release before.
			a.link.Delay(30 * time.Millisecond)
			time.AfterFunc(60*time.Millisecond, a.link.Restore)
			a.withinAPoll(ctx)
		}
	}},
}

// awaitRenewal waits until the lease has become longer, as its client knows.
func (u user) awaitRenewal(ctx context.Context, lease *primitives.Lease) {
	last := lease.Remaining()
	harness.Eventually(ctx, "the renewal of "+u.Name, func() bool {
		must.Do(lease.Err())
		before := last
		last = lease.Remaining()
		return last > before
	})
}

// withinAPoll acquires and unlocks, in no more time than a waiter may go without asking the server.
func (u user) withinAPoll(ctx context.Context) {
	const poll = 5 * time.Second // the default of primitives.Options
	bounded, cancel := context.WithTimeout(ctx, poll)
	defer cancel()
	unlock(ctx, u.acquire(bounded))
}

// exclusionCases are about what one owner holds at a time.
var exclusionCases = []leaseCase{
	{"OnlyReenterShares", "Exclusion", nil, plain, false, func(ctx context.Context, a, b user) {
		outer := a.acquire(ctx)
		refused := must.Refuse[*primitives.Lease]("trying to acquire", primitives.ErrNotAcquired)
		must.In("under the lease's context", func() { refused(a.try(outer.Context(ctx))) })
		must.In("by another client", func() { refused(b.try(outer.Reenter(ctx))) })
		unlock(ctx, outer)
		unlock(ctx, must.Get(b.try(ctx)))
	}},
	{"SilentLinkNeverOverlaps", "Lease", link, renewing, false, func(ctx context.Context, a, b user) {
		lease := a.acquire(ctx)
		held := lease.Context(ctx)
		ended := make(chan time.Time, 1)
		go func() { <-held.Done(); ended <- time.Now() }()
		a.link.Blackhole()
		next, err := b.later(ctx).soon()
		granted := time.Now()
		must.Do(err)
		must.In("the first lease, when the second is held", func() { must.Wrap(lease.Err(), primitives.ErrLost) })
		late := harness.Await(ctx, "the end of the first's context", ended).Sub(granted)
		must.If(late > 0, "the first's context ended %v after the second's grant", late)
		must.If(lease.Token() > 0 && lease.Token() >= next.Token(), "token %d, then %d", lease.Token(), next.Token())
		unlock(ctx, next)
	}},
}

// givingBackCases are about what nobody wants any more, or nobody knows of.
var givingBackCases = []leaseCase{
	{"LateGrantIsGivenBack", "GivingBack", link, plain, true, func(ctx context.Context, a, _ user) {
		a.link.Delay(underWay + 400*time.Millisecond) // The script runs so much after the cancelling.
		a.cancelled(ctx)
		a.granted(ctx)
		a.free(ctx)
		a.link.Restore()
		a.awaitWaiters(ctx, a.Env, a.Name, 0)
	}},
	{"LateReleaseTouchesNoLaterHold", "GivingBack", link, plain, true, func(ctx context.Context, a, b user) {
		for range 5 {
			a.link.BlackholeRequests() // Nobody learns that it has not run.
			a.cancelled(ctx)
			a.link.Restore()
			lease := must.Get(b.later(ctx).soon())
			// The releases of the cancelled attempt go on for up to a second or more.
			for range 20 {
				time.Sleep(25 * time.Millisecond)
				must.If(b.isFree(ctx, b.Env, b.Name), "the later hold %s was released", lease.Owner())
			}
			unlock(ctx, lease)
		}
	}},
	{"LostAcquireIsGivenBack", "GivingBack", link, plain, true, func(ctx context.Context, a, _ user) {
		lose := func() { a.loseReply(ctx, func() error { _, err := a.try(ctx); return err }) }
		if a.Record == nil {
			lose()
		} else {
			a.sentOnce(ctx, lose)
		}
		a.granted(ctx)
		a.free(ctx)
		a.later(ctx).unlock(ctx)
	}},
	{"LostUnlockFrees", "Unlock", link, plain, true, func(ctx context.Context, a, _ user) {
		lease := a.acquire(ctx)
		// It may be sent again: that is harmless.
		a.loseReply(ctx, func() error { return lease.Unlock(ctx) })
		must.Wrap(lease.Err(), primitives.ErrReleased)
		a.free(ctx)
	}},
}

// sentOnce calls call, and fails if a script on the name was not sent once.
func (u user) sentOnce(ctx context.Context, call func()) {
	most, counts := 0, map[string]int{}
	for _, words := range u.sent(ctx, call) {
		if u.runs(words) {
			counts[words[1]]++
			most = max(most, counts[words[1]])
		}
	}
	must.If(most != 1, "the script was sent %d times", most)
}

const (
	// prompt is how soon a call must return after its context ended: far more than scheduling costs,
	// far less than the time-outs that a driver may wait for instead.
	prompt = 4 * time.Second
	// underWay is when calls are cancelled that are to be under way. It leaves a slow machine the time to send.
	underWay = 200 * time.Millisecond
)

// cancelled acquires under a context that is cancelled while the call is under way, and fails unless the error comes
// soon.
func (u user) cancelled(ctx context.Context) {
	err := harness.Promptly(prompt, "the acquire", func() error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		time.AfterFunc(underWay, cancel)
		_, err := u.take(ctx, u.Named, true)
		return err
	})
	must.Wrap(err, context.Canceled)
}
