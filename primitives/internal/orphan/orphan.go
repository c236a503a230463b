// Package orphan releases holds that no caller has a lease of. A caller left before its acquire was
// answered, for example, or its release did not arrive: then the server may still know the owner, for up
// to one lease.
//
// Such an owner is an orphan. The client releases its orphans in the background, many with one script, with
// growing pauses, until they are settled, or until their holds must have expired.
package orphan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/batch"
	"github.com/hasp-go/hasp/primitives/trace"
)

const (
	// batchDelay is how long the first release of an orphan waits for others, to be sent with them,
	// if its acquire may be under way, or if other releases have just been sent.
	batchDelay = 2 * time.Millisecond

	initialBackoff = 50 * time.Millisecond
	maxBackoff     = 500 * time.Millisecond

	// releaseTimeout is how long the client waits for the reply to a release without a caller.
	// Meanwhile it does not repeat the release, so a slow server does not get more of them.
	releaseTimeout = 5 * time.Second

	// searchAfterClose is how long a closed client repeats releases for a grant that may still come.
	// Later only a request that was delayed on its way can be granted, as after a crash.
	searchAfterClose = time.Second

	// releasesPerScript is how many orphans one script releases: under 1 ms of the server's time.
	releasesPerScript = 100
)

// Orphan is an owner that may hold an object on the server, although no caller has a lease of it.
// No other hold has the same owner, so a late or repeated release does no harm.
type Orphan struct {
	Object trace.Object
	Key    string
	Owner  string
	Kind   Kind
	Hold   Hold

	// AcquireDone says that the acquire is no longer under way, so one answer settles the
	// orphan. Otherwise a release may overtake the acquire: the client repeats the release until it
	// finds a hold of the owner.
	AcquireDone bool

	started   time.Time
	releaseAt time.Time
	backoff   time.Duration
	separate  bool // the server refused a script that released it together with others
}

// Kind releases orphans of one kind. It is the key of a map: its type must be comparable.
type Kind interface {
	// ReleaseAll releases each key's owner, with one script, and returns a status for each. In a
	// cluster the keys are in one slot.
	ReleaseAll(ctx context.Context, r backend.ScriptRunner, keys, owners []string) ([]batch.Status, error)
}

// Hold is what else must be known of one orphan.
type Hold interface {
	// ReleaseAlone releases the orphan.
	ReleaseAlone(ctx context.Context, r backend.ScriptRunner) (batch.Status, error)

	// MayLast returns how long a hold of the owner, or its place in a queue, may last on the server.
	MayLast() time.Duration

	// HandleEnd is called once, when the orphan is settled, or when its releases stop because of err.
	// It may block only if there is an err.
	HandleEnd(err error)
}

// Orphans are the orphans of one client.
type Orphans struct {
	ctx    context.Context //nolint:containedctx // Close ends it, and with it the releases under way.
	runner backend.ScriptRunner
	bySlot *atomic.Bool // one script's keys must share a slot

	closing atomic.Bool // Close waits; set with mu

	mu      sync.Mutex
	waiting []*Orphan
	timer   *time.Timer
	timerAt time.Time // when timer fires; zero: it is not armed
	sent    time.Time // when the last releases were due
	dropped error     // the reason; nil: not dropped

	// The number of owners of each object that may hold it without a lease: orphans, and callers
	// that left before the answer.
	unreleased map[trace.Object]int
}

// New returns the orphans of a client, which are released with r. When ctx ends, they are given up. bySlot is
// as for the watchdog.
func New(ctx context.Context, r backend.ScriptRunner, bySlot *atomic.Bool) *Orphans {
	return &Orphans{ctx: ctx, runner: r, bySlot: bySlot, unreleased: make(map[trace.Object]int)}
}

// Add releases o in the background, until its end.
func (all *Orphans) Add(o *Orphan) {
	o.started, o.backoff = time.Now(), initialBackoff
	if o.releaseAt = o.started; !o.AcquireDone {
		o.releaseAt = o.started.Add(batchDelay)
	}
	all.Note(o.Object, 1)
	all.schedule(o)
}

// schedule keeps o until its next release is due.
func (all *Orphans) schedule(o *Orphan) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.dropped != nil {
		go o.Hold.HandleEnd(all.dropped)
		return
	}
	if all.closing.Load() {
		o.hurry(maxBackoff)
	}
	all.waiting = append(all.waiting, o)
	all.arm(o.releaseAt)
}

// Hurry says that the client is closing: it makes the next releases due, and pauses short from then on. The
// pauses of old orphans are longer than Close may wait.
func (all *Orphans) Hurry() {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.closing.Store(true)
	for _, o := range all.waiting {
		o.hurry(batchDelay)
		all.arm(o.releaseAt)
	}
}

// arm makes the timer fire at the given time, unless it fires earlier anyway. If releases have just been sent, the
// time is batchDelay after them: a thousand waiters that leave at once leave with few scripts. The caller holds mu.
func (all *Orphans) arm(at time.Time) {
	if soonest := all.sent.Add(batchDelay); at.Before(soonest) {
		at = soonest
	}
	if !all.timerAt.IsZero() && !at.Before(all.timerAt) {
		return
	}
	all.timerAt = at
	if all.timer == nil {
		all.timer = time.AfterFunc(time.Until(at), func() {
			for _, group := range all.grouped(all.due(time.Now())) {
				go all.release(group)
			}
		})
		return
	}
	all.timer.Reset(time.Until(at))
}

// due takes the orphans whose next release is due. It also takes orphans whose release is due soon,
// so one script releases many.
func (all *Orphans) due(now time.Time) (due []*Orphan) {
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

// hurry bounds the pause before the next release.
func (o *Orphan) hurry(most time.Duration) {
	o.backoff = min(o.backoff, most)
	if soon := time.Now().Add(most); o.releaseAt.After(soon) {
		o.releaseAt = soon
	}
}

// groupKey is equal for orphans that one script can release together.
type groupKey struct {
	kind Kind
	slot int
}

// grouped splits orphans into groups, each of which one script can release.
func (all *Orphans) grouped(due []*Orphan) (groups [][]*Orphan) {
	open := map[groupKey]int{} // the index of the group that has room
	for _, o := range due {
		key := groupKey{kind: o.Kind}
		if all.bySlot.Load() {
			key.slot = backend.Slot(o.Key)
		}
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

// errReleaseFailed is the error of an orphan for which a joint release has no result.
var errReleaseFailed = errors.New("the server refuses the release")

// release releases a group once, and schedules another release of the orphans that are not settled.
func (all *Orphans) release(group []*Orphan) {
	ctx, cancel := context.WithTimeout(all.ctx, releaseTimeout)
	defer cancel()
	sent := time.Now()
	statuses, err := all.releaseGroup(ctx, group)
	if errors.Is(err, backend.ErrCrossSlot) && !all.bySlot.Swap(true) {
		for _, slot := range all.grouped(group) {
			go all.release(slot)
		}
		return
	}
	refused := backend.MayHaveRun(err) && !errors.Is(err, backend.ErrIndeterminate)
	givenUp := map[*Orphan]error{}
	for i, o := range group {
		status, failure := batch.At(i, statuses, err), err
		failed := err == nil && status == batch.Failed
		if failed {
			failure = errReleaseFailed
		}
		// An orphan that failed among others is next released alone, which shows the reason.
		o.separate = o.separate || len(group) > 1 && (refused || failed)
		if !all.settle(o, sent, status, failure) {
			givenUp[o] = failure
		}
	}
	for o, failure := range givenUp { // Last of all, since they may block.
		o.Hold.HandleEnd(failure)
	}
}

// releaseGroup releases a group with one script, and returns a status for each orphan.
func (all *Orphans) releaseGroup(ctx context.Context, group []*Orphan) ([]batch.Status, error) {
	if len(group) == 1 {
		status, err := group[0].Hold.ReleaseAlone(ctx, all.runner)
		return []batch.Status{status}, err
	}
	keys, owners := make([]string, len(group)), make([]string, len(group))
	for i, o := range group {
		keys[i], owners[i] = o.Key, o.Owner
	}
	return group[0].Kind.ReleaseAll(ctx, all.runner, keys, owners)
}

// settle takes the status of a release of o: it ends o, or schedules the next release. It reports false if o
// must be given up.
func (all *Orphans) settle(o *Orphan, sent time.Time, status batch.Status, err error) bool {
	if status == batch.Done || batch.Lost(status) && o.AcquireDone {
		all.Note(o.Object, -1)
		o.Hold.HandleEnd(nil)
		return true
	}
	closing := all.closing.Load()
	if all.hopeless(o, sent, status, err, closing) {
		if !errors.Is(err, backend.ErrClosed) || !closing { // Otherwise the error of Close names it.
			all.Note(o.Object, -1)
		}
		return false
	}
	o.releaseAt = time.Now().Add(o.backoff)
	o.backoff = min(2*o.backoff, backoffLimit(time.Since(o.started)))
	all.schedule(o)
	return true
}

// hopeless reports whether to give up o: when the hold must have expired, or at once if the backend is
// closed. A closing client gives up earlier: at once if the server will always refuse the release, or
// searchAfterClose after the start if no hold is found. The age of an answer counts from the sending of
// the release, since the answer says nothing about later grants.
func (all *Orphans) hopeless(o *Orphan, sent time.Time, status batch.Status, err error, closing bool) bool {
	denied := errors.Is(err, backend.ErrNoPermission) || errors.Is(err, backend.ErrNotSupported)
	searched := batch.Lost(status) && sent.Sub(o.started) >= searchAfterClose
	return time.Since(o.started) >= o.Hold.MayLast() || errors.Is(err, backend.ErrClosed) || all.ctx.Err() != nil ||
		closing && (denied || searched)
}

// backoffLimit bounds the pauses of an orphan of the given age. They grow with the age: a late
// grant gets less likely, and a lease may last for a day.
func backoffLimit(age time.Duration) time.Duration { return max(maxBackoff, age/8) }

// Drop gives up all orphans because of err.
func (all *Orphans) Drop(err error) {
	all.mu.Lock()
	waiting := all.waiting
	all.waiting, all.dropped = nil, err
	all.mu.Unlock()
	for _, o := range waiting {
		go o.Hold.HandleEnd(err) // It may block.
	}
}

// Note adds more to the number of owners of an object that may hold it without a lease.
func (all *Orphans) Note(o trace.Object, more int) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.unreleased[o] += more; all.unreleased[o] == 0 {
		delete(all.unreleased, o)
	}
}

// Explain adds the objects that may still be held to the error of Close. Without an error, an
// object can be held only if the backend was closed before.
func (all *Orphans) Explain(err error) error {
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.unreleased) == 0 {
		return err
	}
	first, others := trace.Object{}, ""
	for o := range all.unreleased {
		if first == (trace.Object{}) || o.Name < first.Name {
			first = o
		}
	}
	if n := len(all.unreleased); n > 1 {
		others = fmt.Sprintf(" and %d more", n-1)
	}
	return fmt.Errorf("not released: %s %q%s: %w", first.Kind, first.Name, others, cmp.Or(err, backend.ErrClosed))
}
