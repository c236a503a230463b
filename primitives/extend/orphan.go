package extend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
)

const (
	// batchDelay is how long the first release of an orphan waits for others, to be sent with them,
	// if its acquire may be under way, or if other releases have just been sent.
	batchDelay = 2 * time.Millisecond

	initialBackoff = 50 * time.Millisecond
	maxBackoff     = 500 * time.Millisecond

	// releaseTimeout is how long the client waits for the reply to a release without a caller.
	// Meanwhile it does not repeat the release, so that a slow server does not get more of them.
	releaseTimeout = 5 * time.Second

	// searchAfterClose is how long a closed client repeats releases for a grant that may still come.
	// Later only a request that was delayed on its way can be granted, as after a crash.
	searchAfterClose = time.Second

	// releasesPerScript is how many orphans one script releases: under 1 ms of the server's time.
	releasesPerScript = 100
)

// orphan is an owner that may hold an object on the server, although no caller has a lease of it.
// No other hold has the same owner, so that a late or repeated release does no harm.
type orphan struct {
	hold      *hold
	started   time.Time
	releaseAt time.Time
	backoff   time.Duration

	// acquireDone says that the acquire is no longer under way, so that one answer settles the
	// orphan. Otherwise a release may overtake the acquire: the client repeats the release until it
	// finds a hold of the owner.
	acquireDone bool

	separate bool // the server refused a script that released it together with others
}

// orphans are the orphans of one client. The client releases them in the background, many with one
// script, with growing pauses, until they are settled, or until their holds must have expired.
type orphans struct {
	core *Core

	mu      sync.Mutex
	waiting []*orphan
	timer   *time.Timer
	timerAt time.Time // when timer fires; zero: it is not armed
	sent    time.Time // when the last releases were due
	hurried bool      // the client is being closed, and Close waits
	dropped bool

	// The number of owners of each object that may hold it without a lease: orphans, and callers
	// that left before the answer.
	unreleased map[objectName]int
}

// objectName is the name of an object in errors.
type objectName struct{ kind, name string }

// releaseInBackground releases a possible hold of h's owner on the server. acquireDone is as for
// orphan.
func (h *hold) releaseInBackground(acquireDone bool) {
	h.leaveLine()
	if !h.object.core.enterUnlessIdle() {
		return
	}
	o := &orphan{hold: h, started: time.Now(), backoff: initialBackoff, acquireDone: acquireDone}
	if o.releaseAt = o.started; !acquireDone {
		o.releaseAt = o.started.Add(batchDelay)
	}
	h.object.core.orphans.note(h.object, 1)
	h.object.core.orphans.schedule(o)
}

// schedule keeps o until its next release is due.
func (all *orphans) schedule(o *orphan) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.dropped {
		go o.giveUp(errClosed)
		return
	}
	if all.hurried {
		o.hurry(maxBackoff)
	}
	all.waiting = append(all.waiting, o)
	all.arm(o.releaseAt)
}

// hurry makes the next releases due, and pauses short from then on: the pauses of old orphans are
// longer than Close may wait.
func (all *orphans) hurry() {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.hurried = true
	for _, o := range all.waiting {
		o.hurry(batchDelay)
		all.arm(o.releaseAt)
	}
}

// hurry bounds the pause before the next release.
func (o *orphan) hurry(most time.Duration) {
	o.backoff = min(o.backoff, most)
	if soon := time.Now().Add(most); o.releaseAt.After(soon) {
		o.releaseAt = soon
	}
}

// arm makes the timer fire at the given time, unless it fires earlier anyway. If releases have just been sent, the
// time is batchDelay after them: a thousand waiters that leave at once leave with few scripts. The caller holds mu.
func (all *orphans) arm(at time.Time) {
	if soonest := all.sent.Add(batchDelay); at.Before(soonest) {
		at = soonest
	}
	if !all.timerAt.IsZero() && !at.Before(all.timerAt) {
		return
	}
	all.timerAt = at
	if all.timer == nil {
		all.timer = time.AfterFunc(time.Until(at), all.tick)
		return
	}
	all.timer.Reset(time.Until(at))
}

// tick releases the orphans that are due.
func (all *orphans) tick() {
	for _, group := range grouped(all.due(time.Now())) {
		go all.release(group)
	}
}

// due takes the orphans whose next release is due. It also takes orphans whose release is due soon,
// so that one script releases many.
func (all *orphans) due(now time.Time) (due []*orphan) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.timerAt, all.sent = time.Time{}, now
	waiting := all.waiting
	all.waiting = nil
	for _, o := range waiting {
		if o.releaseAt.After(now.Add(o.backoff / 4)) {
			all.waiting = append(all.waiting, o)
			all.arm(o.releaseAt)
		} else {
			due = append(due, o)
		}
	}
	return due
}

// drop gives up all orphans.
func (all *orphans) drop() {
	all.mu.Lock()
	waiting := all.waiting
	all.waiting, all.dropped = nil, true
	all.mu.Unlock()
	for _, o := range waiting {
		go o.giveUp(errClosed) // The logger may block.
	}
}

// note adds more to the number of owners of an object that may hold it without a lease.
func (all *orphans) note(o *Object, more int) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.unreleased == nil {
		all.unreleased = make(map[objectName]int)
	}
	name := objectName{o.kind, o.name}
	if all.unreleased[name] += more; all.unreleased[name] == 0 {
		delete(all.unreleased, name)
	}
}

// explain adds the objects that may still be held to the error of Close. Without an error, an
// object can be held only if the backend was closed before.
func (all *orphans) explain(err error) error {
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.unreleased) == 0 {
		return err
	}
	first, others := objectName{}, ""
	for name := range all.unreleased {
		if first == (objectName{}) || name.name < first.name {
			first = name
		}
	}
	if n := len(all.unreleased); n > 1 {
		others = fmt.Sprintf(" and %d more", n-1)
	}
	return fmt.Errorf("not released: %s %q%s: %w", first.kind, first.name, others, cmp.Or(err, backend.ErrClosed))
}

// groupKey is equal for orphans that one script can release together.
type groupKey struct {
	kind LeasableKind
	slot int
}

// grouped splits orphans into groups, each of which one script can release.
func grouped(due []*orphan) (groups [][]*orphan) {
	open := map[groupKey]int{} // the index of the group that has room
	for _, o := range due {
		key := o.groupKey()
		i, ok := open[key]
		if !ok || o.separate || len(groups[i]) == releasesPerScript {
			i = len(groups)
			groups = append(groups, nil)
			if !o.separate {
				open[key] = i
			}
		}
		groups[i] = append(groups[i], o)
	}
	return groups
}

func (o *orphan) groupKey() groupKey {
	key := groupKey{kind: o.hold.source.kind}
	if o.hold.object.core.bySlot.Load() {
		key.slot = backend.Slot(o.hold.object.key)
	}
	return key
}

// errReleaseFailed is the error of an orphan for which a joint release has no result.
var errReleaseFailed = errors.New("the server refuses the release")

// release releases a group once, and schedules another release of the orphans that are not settled.
func (all *orphans) release(group []*orphan) {
	ctx, cancel := context.WithTimeout(all.core.ctx, releaseTimeout)
	defer cancel()
	sent := time.Now()
	statuses, err := releaseGroup(ctx, group)
	if errors.Is(err, backend.ErrCrossSlot) && !all.core.bySlot.Swap(true) {
		for _, slot := range grouped(group) {
			go all.release(slot)
		}
		return
	}
	refused := backend.MayHaveRun(err) && !errors.Is(err, backend.ErrIndeterminate)
	givenUp := map[*orphan]error{}
	for i, o := range group {
		status, failure := Failed, err
		if err == nil && i < len(statuses) {
			status = statuses[i]
		}
		failed := err == nil && status == Failed
		if failed {
			failure = errReleaseFailed
		}
		// An orphan that failed among others is next released alone, which shows the reason.
		o.separate = o.separate || len(group) > 1 && (refused || failed)
		if !all.settle(o, sent, status, failure) {
			givenUp[o] = failure
		}
	}
	for o, failure := range givenUp { // Last of all, since the logger may block.
		o.giveUp(failure)
	}
}

// releaseGroup releases a group with one script, and returns a status for each orphan.
func releaseGroup(ctx context.Context, group []*orphan) ([]Status, error) {
	first := group[0].hold
	runner := first.object.core.backgroundCalls
	if len(group) > 1 {
		keys, owners := make([]string, len(group)), make([]string, len(group))
		for i, o := range group {
			keys[i], owners[i] = o.hold.Key, o.hold.Owner
		}
		return first.source.kind.ReleaseAll(ctx, runner, keys, owners)
	}
	released, err := first.leasable.Release(ctx, runner, first.Owner)
	switch {
	case released, endedHold(err):
		return []Status{Done}, nil
	case err == nil || otherKind(err):
		return []Status{NotHeld}, nil
	}
	return nil, err
}

// settle takes the status of a release of o: it ends o, or schedules the next release. It reports
// false if o must be given up: when the hold must have expired, or at once if the backend is
// closed. A closed client gives up earlier: at once if the server will always refuse the release,
// or searchAfterClose after the start if no hold is found. The age of an answer counts from the
// sending of the release, since the answer says nothing about later grants.
func (all *orphans) settle(o *orphan, sent time.Time, status Status, err error) bool {
	age := time.Since(o.started)
	switch {
	case status == Done, status.Lost() && o.acquireDone:
		all.note(o.hold.object, -1)
		all.core.leave()
	case age >= o.hold.mayLast(), errors.Is(err, backend.ErrClosed), all.core.ctx.Err() != nil,
		(errors.Is(err, backend.ErrNoPermission) || errors.Is(err, backend.ErrNotSupported)) && all.core.isClosed(),
		status.Lost() && sent.Sub(o.started) >= searchAfterClose && all.core.isClosed():
		if !errors.Is(err, backend.ErrClosed) || !all.core.isClosed() {
			all.note(o.hold.object, -1)
		}
		return false
	default:
		o.releaseAt = time.Now().Add(o.backoff)
		o.backoff = min(2*o.backoff, backoffLimit(age))
		all.schedule(o)
	}
	return true
}

// backoffLimit bounds the pauses of an orphan of the given age. They grow with the age: a late
// grant gets less likely, and a lease may last for a day.
func backoffLimit(age time.Duration) time.Duration { return max(maxBackoff, age/8) }

// giveUp stops the releases of o. Without an error, the server has answered that the owner holds
// nothing: no late grant has come.
func (o *orphan) giveUp(err error) {
	defer o.hold.object.core.leave()
	if err != nil {
		o.hold.object.Logger().Warn("gave up releasing", zap.Error(err))
	}
}
