package inspect

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/extend"
)

const (
	// poll is the time between two reads without a message.
	poll = time.Second

	// apart is the least time between two reads, so 20 of them a second is the most.
	apart = 50 * time.Millisecond

	// settle is the time between a message and the read after it, for the others of the same script.
	settle = 2 * time.Millisecond
)

// Event is what has become of an object between two reads.
type Event struct {
	At     time.Time `json:"at,omitzero"` // of the later read, by the server's clock; zero with an error
	Kind   EventKind `json:"kind"`
	Owner  string    `json:"owner,omitempty"` // that the event is about; "": of none
	Object Object    `json:"object"`          // at that time; with [Gap] at least its name
}

// EventKind is a kind of event. Its text is for people and for JSON.
type EventKind string

// The kinds of events. The server stores states, and no reasons: each comment says what may have happened.
const (
	// Seen is the first state of an object that Watch has seen, unless it was acquired since the last read.
	Seen EventKind = "seen"

	// Acquired is that Owner holds the object.
	Acquired EventKind = "acquired"

	// HandedOver is that Owner holds an object that one owner at a time can hold, and that another has released. It may
	// have been free for a moment.
	HandedOver EventKind = "handed over"

	// Released is that Owner no longer holds the object, though its lease was to last longer: Owner has released it, or
	// somebody has taken it away without a message, as ReleaseOwner, the ForceUnlock of a FairLock, DEL and Redisson do.
	Released EventKind = "released"

	// Freed is that ForceUnlock has ended Owner's hold, as a message says.
	Freed EventKind = "freed"

	// Revoked is that Owner no longer holds the object, which stays held until the lease has ended: [Holder].Revoked.
	Revoked EventKind = "revoked"

	// Lost is that Owner no longer holds the object, and that the lease which it had at the last read has ended.
	Lost EventKind = "lost"

	// Waiting is that Owner waits. The server does not store the waiters of a Lock.
	Waiting EventKind = "waiting"

	// Left is that Owner no longer waits, and does not hold: it gave up, or was removed after it was silent, or has held
	// and released since the last read.
	Left EventKind = "left"

	// Changed is that the object differs in something else, such as its permits, a value, or the number of holders or
	// waiters that are too many to be read.
	Changed EventKind = "changed"

	// Gone is that the server has no key of the object any more. As the first event, there is none under the name.
	Gone EventKind = "gone"

	// Gap is that events may be missing before this one: no read has succeeded, messages may have been lost, a fencing
	// token shows a grant that no read saw, or a hand-over came without the message that would have made it seen at once.
	Gap EventKind = "gap"
)

// Watch yields what happens to the objects under a name, from their present state on: first [Seen] of each, or [Gone]. It
// reads them as [Describe] does: once a second, and after each message on their channels, at most 20 times a second. It
// yields how two reads differ. So it leaves out what comes and goes between two reads: see [Gap]. Where no message is
// published, such as the acquire of a free Lock, it is up to a second late.
//
// The server's user needs the permissions of Describe, +subscribe (in a cluster +ssubscribe), and the channels that
// docs/internals/keys-and-messages.md lists for the kinds of the objects. Without them, Watch yields the error once, and
// goes on without messages.
//
// Watch ends when ctx ends, without an error, or when the caller stops. An error comes with an event of the kind Gap.
// After a read that failed, Watch yields its error, and tries again until one succeeds, silently. It ends after an error
// that stays: [primitives.ErrClosed], [primitives.ErrNoPermission] of a read, [primitives.ErrNotSupported] or a
// [*primitives.FieldError].
func Watch(ctx context.Context, client *primitives.Client, name string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		o := objectOf(client, name)
		w := &watch{client: client, object: &o, message: make(chan struct{}, 1), ears: map[string]func(){}, said: map[string]bool{}, yield: yield}
		defer w.hear(nil)
		for w.read(ctx) && w.await(ctx) {
		}
	}
}

// watch is one call of Watch.
type watch struct {
	client *primitives.Client
	object *extend.Object
	yield  func(Event, error) bool

	begun  bool
	before []Object // of the last read
	failed bool     // the last read has
	prompt bool     // the next read follows a message at once

	message chan struct{}     // has a value after a message that no read has followed
	ears    map[string]func() // by channel: ends its subscription

	mu      sync.Mutex
	gap     bool            // since the last read
	said    map[string]bool // the messages since the last read
	refused error           // of the first subscription that was, until it is yielded
	known   bool            // a subscription was refused
}

// read reads the objects, and yields events. It reports whether to go on.
func (w *watch) read(ctx context.Context) bool {
	after, at, err := describe(ctx, w.client, w.object.Name(), (*reading).keys)
	if ctx.Err() != nil {
		return false
	}
	if err != nil {
		return w.fail(err)
	}
	w.hear(channels(w.object, after))
	events, said := w.missed(at)
	if w.begun {
		events = append(events, differences(w.object.Name(), w.before, after, difference{at: at, prompt: w.prompt, said: said})...)
	} else {
		events = append(events, w.first(after, at)...)
	}
	w.begun, w.before, w.failed = true, after, false
	for _, e := range events {
		if !w.yield(e, nil) {
			return false
		}
	}
	return w.yieldRefusal(at)
}

func (w *watch) first(all []Object, at time.Time) (events []Event) {
	for _, o := range all {
		events = append(events, Event{At: at, Kind: Seen, Object: o})
	}
	if len(all) == 0 {
		events = []Event{{At: at, Kind: Gone, Object: Object{Name: w.object.Name(), Kind: Unknown}}}
	}
	return events
}

// fail yields the error of a read, unless the last read has failed, too. It reports whether a later read may succeed.
func (w *watch) fail(err error) bool {
	stays := errors.As(err, new(*primitives.FieldError)) || errors.Is(err, primitives.ErrClosed) ||
		errors.Is(err, primitives.ErrNoPermission) || errors.Is(err, primitives.ErrNotSupported)
	more := true
	if !w.failed || stays {
		more = w.yield(w.gapAt(time.Time{}), err)
	}
	w.failed = true
	return more && !stays
}

func (w *watch) gapAt(at time.Time) Event {
	return Event{At: at, Kind: Gap, Object: Object{Name: w.object.Name(), Kind: Unknown}}
}

// missed returns the event of messages that may have been lost, and those that came.
func (w *watch) missed(at time.Time) (events []Event, said map[string]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gap {
		events = append(events, w.gapAt(at))
	}
	said = w.said
	w.gap, w.said = false, map[string]bool{}
	return events, said
}

// yieldRefusal yields the error of the first subscription that was refused. It reports whether to go on.
func (w *watch) yieldRefusal(at time.Time) bool {
	w.mu.Lock()
	err := w.refused
	w.refused = nil
	w.mu.Unlock()
	return err == nil || w.yield(w.gapAt(at), fmt.Errorf("watch object %q without messages: %w", w.object.Name(), err))
}

// heard takes a message, the end of a gap, or the error of a subscription. Without a server a read fails, too, so only
// the server's refusal is news.
func (w *watch) heard(event backend.Event, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case errors.As(err, new(*backend.ServerError)) && !w.known:
		w.refused, w.known = err, true
		return
	case err != nil:
		return
	}
	w.gap = w.gap || event.Kind != backend.EventMessage
	w.said[event.Payload] = true
	select {
	case w.message <- struct{}{}:
	default:
	}
}

// hear subscribes to these channels, and to no others.
func (w *watch) hear(channels []string) {
	unused := w.ears
	w.ears = make(map[string]func(), len(channels))
	for _, channel := range channels {
		stop, hears := unused[channel]
		if !hears {
			stop = w.object.Hear(channel, w.heard)
		}
		delete(unused, channel)
		w.ears[channel] = stop
	}
	for _, stop := range unused {
		stop()
	}
}

// await waits until the next read is due, and reports false if ctx ends before. A second read follows a message soon:
// the message of a release is published before another owner acquires.
func (w *watch) await(ctx context.Context) bool {
	followed := w.prompt
	w.prompt = false
	if _, ended := pause(ctx, apart, nil); ended {
		return false
	}
	select {
	case <-w.message: // It came too early for a read of its own.
		return true
	default:
	}
	if followed {
		return true
	}
	heard, ended := pause(ctx, poll-apart, w.message)
	if w.prompt = heard; heard {
		_, ended = pause(ctx, settle, nil)
	}
	return !ended
}

// pause waits for some time, or for a value of ready, or for the end of ctx.
func pause(ctx context.Context, d time.Duration, ready <-chan struct{}) (isReady, ended bool) {
	select {
	case <-time.After(d):
	case <-ready:
		isReady = true
	case <-ctx.Done():
		ended = true
	}
	return isReady, ended
}
