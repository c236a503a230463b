package primitives

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// flights are the calls of a client that wait for the same answers. Of each flight one caller at a time, its leader, asks
// the server.
type flights struct {
	mu    sync.Mutex
	all   map[string]*flight
	ended context.Context //nolint:containedctx // That of the client: its end ends the waiting.
	close func()
}

// flight is one answer, and the callers that wait for it.
type flight struct {
	callers int           // that wait, or lead
	joined  int           // callers so far
	turn    chan struct{} // has an element while there is no leader
	done    chan struct{} // closed when there is an answer
	answer  memoAnswer    // for the callers up to number covers: the others came after the question
	covers  int
	busy    atomic.Bool // the server has let a leader run, or refused it: the others wait, even in an outage
}

func newFlights() *flights {
	f := &flights{all: map[string]*flight{}}
	f.ended, f.close = context.WithCancel(context.Background())
	return f
}

// do returns the answer of the flight called name. A caller that becomes the leader calls ask, which calls asking when it
// asks, and sets one.busy. If others may not share what ask returns, or it panics, the next caller becomes the leader. The
// error says that ctx or the client ended before there was an answer.
func (f *flights) do(
	ctx context.Context, name string, ask func(one *flight, asking func()) (answer memoAnswer, shared bool),
) (answer memoAnswer, err error) {
	for {
		one, number := f.join(name)
		leads, err := f.wait(ctx, one)
		switch {
		case leads:
			return f.lead(name, one, ask), nil
		case err != nil:
			f.leave(name, one, false)
			return memoAnswer{}, err
		case number <= one.covers:
			return one.answer, nil
		}
	}
}

func (f *flights) join(name string) (one *flight, number int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one = f.all[name]
	if one == nil {
		one = &flight{turn: make(chan struct{}, 1), done: make(chan struct{})}
		one.turn <- struct{}{}
		f.all[name] = one
	}
	one.callers++
	one.joined++
	return one, one.joined
}

// wait waits until the caller is the leader of one, or has its answer.
func (f *flights) wait(ctx context.Context, one *flight) (leads bool, err error) {
	select {
	case <-one.turn:
		return true, nil
	case <-one.done:
		return false, nil
	case <-f.ended.Done():
		return false, ErrClosed
	case <-ctx.Done():
		return false, fmt.Errorf("%w: %w", ErrNotAcquired, ctx.Err())
	}
}

// lead asks. After that, all that came before the question have the answer, or the next one leads.
func (f *flights) lead(
	name string, one *flight, ask func(one *flight, asking func()) (memoAnswer, bool),
) (answer memoAnswer) {
	asked, shared := 0, false // asked: how many had come when it last asked
	defer func() {
		f.mu.Lock()
		one.answer, one.covers = answer, asked
		f.mu.Unlock()
		f.leave(name, one, shared)
		if shared {
			close(one.done)
		} else {
			one.turn <- struct{}{}
		}
	}()
	answer, shared = ask(one, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		asked = one.joined
	})
	return answer
}

// leave removes a caller, and the flight with its last one, or once it has an answer.
func (f *flights) leave(name string, one *flight, answered bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one.callers--; (one.callers == 0 || answered) && f.all[name] == one {
		delete(f.all, name)
	}
}
