package line

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/listen"
)

// Beater sends the server heartbeats of waiters.
type Beater interface {
	// Beat sends heartbeats of owners that wait: at most 100, in the order of their places.
	// stamp is the number of this sending. A refusal by the server ends their waiting.
	Beat(ctx context.Context, stamp int64, owners []string) (Beats, error)

	// Stray releases an owner that was granted the object, but has no waiter any more. It does not
	// block.
	Stray(owner string)
}

// Beats is the answer to a beat.
type Beats struct {
	HeldFor time.Duration // by the present holder; negative: unknown, or forever
	Nobody  bool          // holds the object: the server has found only expired waiters, and needs another beat
	Rank    int64         // how many waiters are before the first of the owners that waits; -1: none of the owners waits
	Token   int64         // of the owner that holds
	Status  []BeatStatus
}

// BeatStatus is the status of an owner.
type BeatStatus int64

// The statuses of an owner.
const (
	NoPlace BeatStatus = 0 // it has neither a place nor the object
	Waits   BeatStatus = 1
	Holds   BeatStatus = 2 // for as long as a heartbeat counts, from the beat's sending on
)

// Acknowledged implements [listen.Listener]. An earlier grant may have been missed.
func (l *line) Acknowledged() { l.beat(true) }

func (l *line) Poll() { l.beat(false) }

func (l *line) Drop() (cancel func()) {
	delete(l.lines.lines, l.key)
	return l.channel.Drop()
}

// beat begins to send heartbeats: of all waiters, or, to learn the server's state, of the first
// ones. The caller holds the mutex.
func (l *line) beat(all bool) {
	if all {
		l.fullAt = time.Time{}
	}
	switch {
	case l.channel.Dropped || l.channel.Joined == 0:
	case l.beating:
		l.again = true
	default:
		l.beating = true
		l.lines.client.Go(func() {
			for more := true; more; {
				more = l.endBeat(l.beatForAll(l.batches()))
			}
		})
	}
}

// beatForAll sends heartbeats of all batches, several at a time: over a slow link, one after the
// other would take longer than a heartbeat counts. After a failure, which it returns, it sends no more.
func (l *line) beatForAll(batches [][]*placeholder) error {
	var all sync.WaitGroup
	slots, failures := make(chan struct{}, beatsAtOnce), make(chan error, len(batches))
	for _, batch := range batches {
		if slots <- struct{}{}; len(failures) > 0 {
			break
		}
		all.Go(func() {
			if err := l.beatFor(batch); err != nil {
				failures <- err
			}
			<-slots
		})
	}
	all.Wait()
	close(failures)
	return <-failures
}

// batches returns the waiters that have a place, in order, in batches for one script each: all of
// them, or only the first batch, if it is not yet time for all.
func (l *line) batches() [][]*placeholder {
	l.lines.mu.Lock()
	defer l.lines.mu.Unlock()
	l.again = false
	now := time.Now()
	l.sent = slices.DeleteFunc(l.sent, func(s sending) bool { return now.Sub(s.at) > l.Wait }) // Too old for a grant.
	all := slices.Clone(l.queued)
	slices.SortFunc(all, func(a, b *placeholder) int { return cmp.Compare(a.place, b.place) })
	if first := min(len(all), ownersPerBeat); first < len(all) && now.Before(l.fullAt) {
		all = all[:first]
	} else {
		l.fullAt = now.Add(listen.Jittered(l.fullInterval()))
	}
	return slices.Collect(slices.Chunk(all, ownersPerBeat))
}

// beatFor sends heartbeats of a batch, and passes each waiter its status.
func (l *line) beatFor(batch []*placeholder) error {
	all := l.lines
	owners, sent := l.send(batch)
	ctx, cancel := context.WithTimeout(all.client.Context(), l.Wait/4)
	defer cancel()
	beats, err := l.Beater.Beat(ctx, sent.stamp, owners)
	all.mu.Lock()
	defer all.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			l.refuse(batch, owners, err)
		}
		return err
	}
	for i, me := range batch {
		if i < len(beats.Status) {
			l.take(me, owners[i], beats.Status[i], beats.Token, sent)
		}
	}
	l.again = l.again || beats.Nobody && beats.Rank >= 0
	l.lookAt(beats.HeldFor, beats.Rank)
	return nil
}

// refuse ends the waiting of a batch if the server has refused its beat and would refuse it again,
// for example for lack of a permission. The caller holds the mutex.
func (l *line) refuse(batch []*placeholder, owners []string, err error) {
	var server *backend.ServerError
	if !errors.As(err, &server) || backend.RefusesWrites(server.Code) ||
		errors.Is(err, backend.ErrUnavailable) || errors.Is(err, backend.ErrIndeterminate) {
		return
	}
	for i, me := range batch {
		if me.index >= 0 && me.owner == owners[i] {
			me.failed = err
			l.settle(me, nil)
		}
	}
}

// send notes a beat that is about to be sent.
func (l *line) send(batch []*placeholder) (owners []string, s sending) {
	l.lines.mu.Lock()
	defer l.lines.mu.Unlock()
	for _, me := range batch {
		owners = append(owners, me.owner)
	}
	l.lines.stamp++
	s = sending{l.lines.stamp, time.Now()}
	l.sent = append(l.sent, s)
	return owners, s
}

// take gives me its status on the server, if me still waits as it did when the beat was sent. The
// caller holds the mutex.
func (l *line) take(me *placeholder, owner string, status BeatStatus, token int64, sent sending) {
	if me.index < 0 || me.owner != owner || me.asked.stamp > sent.stamp {
		return
	}
	switch status {
	case Holds:
		l.deaf++
		l.settle(me, &grant{token, sent.at})
	case NoPlace:
		l.settle(me, nil)
	case Waits:
	}
}

// endBeat ends a beat, and arms the alarm for the next one. It reports whether another beat must
// follow at once.
func (l *line) endBeat(failed error) (more bool) {
	all := l.lines
	all.mu.Lock()
	defer all.mu.Unlock()
	if more = l.again && failed == nil && all.client.Context().Err() == nil && !l.channel.Dropped; more {
		return true
	}
	l.beating, l.again = false, false
	if failed != nil && l.channel.Joined > 0 { // Another beat in time keeps the places.
		l.fullAt = time.Time{}
		l.channel.Alarm.Within(listen.Jittered(l.beatInterval() / listen.UnsubscribedPollFactor))
	} else if len(l.queued) > ownersPerBeat {
		l.channel.Alarm.Within(time.Until(l.fullAt))
	}
	l.lookAt(-1, -1)
	return false
}

// lookAt arms the alarm for the time at which the present hold ends, in heldFor, plus a little
// more, so not all clients look at once. The caller holds the mutex.
func (l *line) lookAt(heldFor time.Duration, rank int64) {
	if l.channel.Joined == 0 || l.channel.Dropped {
		return
	}
	next := listen.Jittered(l.lookInterval())
	if heldFor >= 0 && heldFor < next {
		later := 12*time.Millisecond + rand.N(36*time.Millisecond) //nolint:gosec // Jitter.
		if rank >= 0 && rank < nearRank {
			later = time.Duration(2+rank) * time.Millisecond
		}
		next = heldFor + later
	}
	l.channel.Alarm.Within(next)
}

// fullInterval is the time between two beats of all waiters. A waiter loses its place after two
// such intervals, so one lost beat, which is noticed within a quarter of Wait, costs no place.
func (l *line) fullInterval() time.Duration { return l.beatInterval() * 4 / 3 }

// beatInterval is the time between two beats of the first waiters, which are next.
func (l *line) beatInterval() time.Duration { return min(l.Wait/4, l.lines.client.Poll(), maxBeat) }

// maxBeat bounds the time between two beats: the server keeps a queue for a minute after one.
const maxBeat = 15 * time.Second

// lookInterval is beatInterval, or less while no messages come.
func (l *line) lookInterval() time.Duration {
	if l.channel.Subscribed && l.deaf < deafAfter {
		return l.beatInterval()
	}
	return l.beatInterval() / listen.UnsubscribedPollFactor
}
