package primitives

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
)

const (
	// gathering is how long an orphan whose acquire may be under way waits for others.
	gathering = 2 * time.Millisecond

	firstRepeat = 50 * time.Millisecond
	mostRepeat  = 500 * time.Millisecond

	// releaseTimeout bounds the waiting for a release's reply that no caller's context bounds. A
	// server that is slow gets no second one meanwhile.
	releaseTimeout = 5 * time.Second

	// lastSearch is how long a closed client looks for a grant that may still come. Later than
	// that only a request that was held up on its way is granted, as after a crash.
	lastSearch = time.Second

	// releasesAtOnce is how many orphans one script releases: under 1 ms of the server's time.
	releasesAtOnce = 100
)

// orphan is an owner that may hold a lock on the server though no caller holds it any more. Its
// owner is used for nothing else, so that a release that comes late or twice does no harm.
type orphan struct {
	hold  *hold
	since time.Time
	next  time.Time
	pause time.Duration

	// final says that the acquire is known to be over, so that one answer settles it. Else releases
	// go on until one has found the hold: a release may overtake the acquire that it follows.
	final bool

	alone bool // the server refused a script with others
}

// orphans are those of one client. They are released in the background, as many as possible by one
// script, in pauses that grow, until they are settled or one lease has passed.
type orphans struct {
	client *Client

	mu      sync.Mutex
	asleep  []*orphan
	timer   *time.Timer
	wakeAt  time.Time // when timer fires; zero: it is not armed
	dropped bool
}

// giveBack releases in the background what the server may hold for h. final is as for orphan.
func (h *hold) giveBack(final bool) {
	if !h.of.client.stayUnlessIdle() {
		return
	}
	o := &orphan{hold: h, since: time.Now(), pause: firstRepeat, final: final}
	if o.next = o.since; !final {
		o.next = o.since.Add(gathering)
	}
	h.of.client.orphans.sleep(o)
}

// sleep keeps o until its next release is due.
func (all *orphans) sleep(o *orphan) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.dropped {
		go o.giveUp(nil)
		return
	}
	all.asleep = append(all.asleep, o)
	all.arm(o.next)
}

// arm makes the timer fire at that time, or earlier if it does anyway. The caller holds mu.
func (all *orphans) arm(at time.Time) {
	if !all.wakeAt.IsZero() && !at.Before(all.wakeAt) {
		return
	}
	all.wakeAt = at
	if all.timer == nil {
		all.timer = time.AfterFunc(time.Until(at), all.tick)
		return
	}
	all.timer.Reset(time.Until(at))
}

// tick releases those that are due.
func (all *orphans) tick() {
	for _, group := range grouped(all.due(time.Now())) {
		go all.release(group)
	}
}

// due takes the orphans whose next release is due, and those that would be due soon after, so that
// scripts fill.
func (all *orphans) due(now time.Time) (due []*orphan) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.wakeAt = time.Time{}
	asleep := all.asleep
	all.asleep = nil
	for _, o := range asleep {
		if o.next.After(now.Add(o.pause / 4)) {
			all.asleep = append(all.asleep, o)
			all.arm(o.next)
		} else {
			due = append(due, o)
		}
	}
	return due
}

// drop forgets all orphans: the client gives up.
func (all *orphans) drop() {
	all.mu.Lock()
	asleep := all.asleep
	all.asleep, all.dropped = nil, true
	all.mu.Unlock()
	for _, o := range asleep {
		o.giveUp(nil)
	}
}

// family is what orphans must share to be released by one script.
type family struct {
	kind string
	slot int
}

// grouped splits orphans into those that one script can release.
func grouped(due []*orphan) (groups [][]*orphan) {
	open := map[family]int{} // the group of each family that has room
	for _, o := range due {
		f := o.family()
		i, ok := open[f]
		if !ok || o.alone || len(groups[i]) == releasesAtOnce {
			i = len(groups)
			groups = append(groups, nil)
			if !o.alone {
				open[f] = i
			}
		}
		groups[i] = append(groups[i], o)
	}
	return groups
}

func (o *orphan) family() family {
	f := family{kind: o.hold.of.kind}
	if o.hold.of.client.cluster {
		f.slot = backend.Slot(o.hold.of.key)
	}
	return f
}

// release releases a group once, and lets those sleep again that are not settled by that.
func (all *orphans) release(group []*orphan) {
	ctx, cancel := context.WithTimeout(all.client.ctx, releaseTimeout)
	defer cancel()
	found, err := releaseGroup(ctx, group)
	refused := backend.MayHaveRun(err) && !errors.Is(err, backend.ErrIndeterminate)
	for i, o := range group {
		o.alone = o.alone || refused && len(group) > 1
		if err != nil {
			all.settle(o, unanswered, err)
		} else {
			all.settle(o, found[i], nil)
		}
	}
}

// found is what a release has found.
type found int

const (
	unanswered found = iota
	missed           // the owner does not hold the lock
	freed
)

// releaseGroup releases a group by one script, and returns what it has found for each.
func releaseGroup(ctx context.Context, group []*orphan) ([]found, error) {
	locker := group[0].hold.locker
	if len(group) > 1 {
		holds := make([]*hold, len(group))
		for i, o := range group {
			holds[i] = o.hold
		}
		return locker.releaseAll(ctx, holds)
	}
	released, err := locker.release(ctx, group[0].hold.of.client.ownWork, group[0].hold.Owner)
	switch {
	case released:
		return []found{freed}, nil
	case err == nil || otherKind(err):
		return []found{missed}, nil
	}
	return nil, err
}

// settle ends the search for o, or lets it sleep until the next release. Nobody waits for a closed
// client to be sure, and a closed backend sends no more.
func (all *orphans) settle(o *orphan, what found, err error) {
	took := time.Since(o.since)
	switch {
	case what == freed, what == missed && o.final:
		all.client.leave()
	case took >= o.hold.Lease, errors.Is(err, backend.ErrClosed), all.client.ctx.Err() != nil,
		what == missed && took >= lastSearch && all.client.isClosed():
		o.giveUp(err)
	default:
		o.next = time.Now().Add(o.pause)
		o.pause = min(2*o.pause, mostPause(took))
		all.sleep(o)
	}
}

// mostPause bounds a pause after so long: what comes later is less likely, and a lease may be a
// day.
func mostPause(took time.Duration) time.Duration { return max(mostRepeat, took/8) }

func (o *orphan) giveUp(err error) {
	o.hold.of.client.opts.Logger.Debug("gave up releasing",
		append(zapObject(o.hold.of), zap.Error(err))...)
	o.hold.of.client.leave()
}

func zapObject(o object) []zap.Field {
	return []zap.Field{zap.String("kind", o.kind), zap.String("name", o.name)}
}
