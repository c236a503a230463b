package fanout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// channelsPerCall bounds the channels of one call of a link, so its answers come within
// Options.AnswerWithin over a slow network too.
const channelsPerCall = 128

var (
	errIdle   = errors.New("link idle")
	errSilent = errors.New("link silent")
	errEnded  = errors.New("subscription ended by the server")

	errUnacknowledged = errors.New("SUBSCRIBE was answered, but not acknowledged")
)

// linkWorker dials one link, and makes all its calls in one goroutine until the link is lost or idle.
type linkWorker struct {
	hub    *Hub
	node   string
	ctx    context.Context // ends when the link is lost or the hub closed
	cancel context.CancelCauseFunc
	wake   chan struct{}

	pinged    time.Time   // when the last ping was sent; only run uses it
	following atomic.Bool // a call of Left is under way

	// Hub.mu guards these.
	channels map[*channel]struct{}
	todo     []*channel // those whose state may need a call; one may be there twice
	takeover
}

// mute is a node whose latest links, in a row, answered SUBSCRIBE and did not acknowledge it, and when to dial it again.
type mute struct {
	links int
	until time.Time
}

func (h *Hub) newWorker(node string) *linkWorker {
	w := &linkWorker{
		hub: h, node: node,
		wake:     make(chan struct{}, 1),
		channels: map[*channel]struct{}{},
		takeover: takeover{others: map[string][]string{}, due: time.Now().Add(h.opts.IdleTimeout)},
	}
	w.ctx, w.cancel = context.WithCancelCause(h.ctx)
	return w
}

// start makes w the worker for its node. Hub.mu is held.
func (w *linkWorker) start(dial func() (containedLink, error)) {
	w.hub.workers[w.node] = w
	w.hub.running.Go(func() { w.run(dial()) })
}

// add makes the worker check c. Hub.mu is held.
func (w *linkWorker) add(c *channel) {
	w.todo = append(w.todo, c)
	signal(w.wake)
}

// run is the worker's goroutine.
func (w *linkWorker) run(link containedLink, err error) {
	if err == nil {
		// Deferred, so the channels are rerouted without waiting for a slow Close.
		defer link.Close()
		err = w.serve(link)
	}
	w.cancel(err)
	w.rerouteAll(err)
}

func (w *linkWorker) dial(within time.Duration) (containedLink, error) {
	ctx, cancel := context.WithTimeout(w.ctx, within)
	defer cancel()
	return w.hub.dialer.Dial(ctx, w.node, w)
}

// rerouteAll gives the channels of a worker that has ended to the router.
func (w *linkWorker) rerouteAll(err error) {
	h := w.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.workers[w.node] == w {
		delete(h.workers, w.node)
	}
	jitter := newJitter() // one for all, so they come back together
	if m := h.mutes[w.node]; errors.Is(err, errUnacknowledged) {
		h.mutes[w.node] = mute{m.links + 1, time.Now().Add(backoff(m.links, maxMutePause, jitter))}
	} else {
		delete(h.mutes, w.node)
	}
	for c := range w.channels {
		h.reroute(c, err, jitter)
	}
}

// serve makes calls until the link is lost, was idle for Options.IdleTimeout, or the hub is closed. A ping
// comes before other calls, of which there might be no end.
func (w *linkWorker) serve(link containedLink) error {
	w.pinged = time.Now()
	if err := w.finish(link); err != nil {
		return err
	}
	for {
		if err := w.pingIfDue(link); err != nil {
			return err
		}
		on, off := w.next(link)
		var err error
		switch {
		case len(off) > 0:
			err = w.unsubscribe(link, off)
		case len(on) > 0:
			err = w.subscribe(link, on)
		case w.renewIn() <= 0:
			err = w.renew(link)
		default:
			err = w.awaitWork()
		}
		if err != nil {
			return err
		}
	}
}

// next takes the channels to subscribe, or those to unsubscribe, from the list. Those to unsubscribe go
// first; the others stay on the list.
func (w *linkWorker) next(link containedLink) (on, off []*channel) {
	_, unsubscribes := link.Link.(Unsubscriber)
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	var later []*channel
	for i, c := range w.todo {
		if len(on) == channelsPerCall || len(off) == channelsPerCall {
			later = append(later, w.todo[i:]...)
			break
		}
		switch {
		case c.worker != w:
		case c.state == idle && len(c.subs) == 0:
			w.forget(c)
		case c.state == idle:
			on = append(on, c)
		case c.state == acked && len(c.subs) == 0 && !unsubscribes:
			w.leave(c)
		case c.state == acked && len(c.subs) == 0:
			c.state = unsubscribing
			off = append(off, c)
		}
	}
	w.todo = later
	if len(off) > 0 {
		w.todo = append(w.todo, on...)
		return nil, off
	}
	for _, c := range on {
		c.state = subscribing
	}
	return on, nil
}

// forget drops a channel without handlers that is not subscribed on the server. Hub.mu is held.
func (w *linkWorker) forget(c *channel) {
	delete(w.channels, c)
	c.worker = nil
	if w.hub.channels[c.name] == c {
		delete(w.hub.channels, c.name)
	}
}

func (w *linkWorker) subscribe(link containedLink, on []*channel) error {
	ctx, cancel := context.WithTimeout(w.ctx, w.hub.opts.AnswerWithin)
	defer cancel()
	for i, err := range link.Subscribe(ctx, names(on)) {
		if err == nil {
			continue
		}
		if !errors.As(err, new(*backend.ServerError)) {
			return w.callError(ctx, err)
		}
		w.refused(on[i], err)
	}
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if slices.ContainsFunc(on, func(c *channel) bool { return c.worker == w && c.state == subscribing }) {
		return errUnacknowledged
	}
	return nil
}

// refused reroutes a channel for which the server refused SUBSCRIBE. A ping may be refused, unless the channel
// has another node.
func (w *linkWorker) refused(c *channel, err error) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if c.worker == w && (c.state == subscribing || movedTo(err) != "") {
		w.hub.reroute(c, err, newJitter())
	}
}

func (w *linkWorker) unsubscribe(link containedLink, off []*channel) error {
	ctx, cancel := context.WithTimeout(w.ctx, w.hub.opts.AnswerWithin)
	defer cancel()
	if err := link.Unsubscribe(ctx, names(off)); err != nil {
		return w.callError(ctx, err)
	}
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	for _, c := range off {
		// If the answer comes later it is ignored: it comes before the answer to any later
		// SUBSCRIBE.
		c.state = idle
		w.todo = append(w.todo, c)
	}
	return nil
}

// pingIfDue pings the link if the last ping was Options.PingEvery ago. Any answer of the server will do.
func (w *linkWorker) pingIfDue(link containedLink) error {
	if time.Since(w.pinged) < w.hub.opts.PingEvery {
		return nil
	}
	w.pinged = time.Now()
	w.follow(link)
	return w.ping(link)
}

// ping subscribes again to a channel that the link has, if there is one.
func (w *linkWorker) ping(link containedLink) error {
	if wanted := w.wanted(); len(wanted) > 0 {
		return w.subscribe(link, wanted[:1])
	}
	return nil
}

// wanted returns the channels that the link has and that have handlers.
func (w *linkWorker) wanted() (all []*channel) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	for c := range w.channels {
		if c.state == acked && len(c.subs) > 0 {
			all = append(all, c)
		}
	}
	return all
}

// follow asks the link, in a goroutine of its own, whether the client has left the link's node. It does
// nothing while the last question has no answer.
func (w *linkWorker) follow(link containedLink) {
	if _, ok := link.Link.(Follower); !ok || !w.following.CompareAndSwap(false, true) {
		return
	}
	w.hub.running.Go(func() {
		defer w.following.Store(false)
		ctx, cancel := context.WithTimeout(w.ctx, w.hub.opts.AnswerWithin)
		defer cancel()
		if err := link.Left(ctx); err != nil {
			w.Lost(err)
		}
	})
}

// awaitWork waits until there is a channel to check, or until the next ping or link is due. It returns errIdle
// if the worker had no channels for Options.IdleTimeout.
func (w *linkWorker) awaitWork() error {
	empty := w.empty()
	wait := time.Until(w.pinged.Add(w.hub.opts.PingEvery))
	if empty {
		wait = w.hub.opts.IdleTimeout
	}
	select {
	case <-w.wake:
		return nil
	case <-w.ctx.Done():
		return context.Cause(w.ctx)
	case <-time.After(min(wait, w.renewIn())):
	}
	if empty {
		return w.endIfEmpty()
	}
	return nil
}

func (w *linkWorker) empty() bool {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	return len(w.channels) == 0
}

// endIfEmpty returns errIdle if the worker still has no channels. It takes the worker from the hub then,
// so it gets none any more.
func (w *linkWorker) endIfEmpty() error {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if len(w.channels) > 0 {
		return nil
	}
	delete(w.hub.workers, w.node)
	return errIdle
}

// callError returns the reason why a call of the link failed.
func (w *linkWorker) callError(ctx context.Context, err error) error {
	switch {
	case w.ctx.Err() != nil:
		return context.Cause(w.ctx)
	case ctx.Err() != nil:
		return fmt.Errorf("%w for %s: %w", errSilent, w.hub.opts.AnswerWithin, err)
	}
	return err
}

func names(channels []*channel) []string {
	out := make([]string, len(channels))
	for i, c := range channels {
		out[i] = c.name
	}
	return out
}

// Subscribed implements [Events].
func (w *linkWorker) Subscribed(name string) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if w.taking {
		came := w.others[name]
		w.others[name] = came
	} else if c := w.hub.channels[name]; c != nil && c.worker == w && c.state == subscribing {
		delete(w.others, name)
		c.acknowledge()
		w.hub.dropUnused(c)
	}
}

func (w *linkWorker) Unsubscribed(name string) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	delete(w.others, name)
	// Only an acknowledged channel can be lost here; otherwise this answers our own UNSUBSCRIBE.
	if c := w.hub.channels[name]; c != nil && c.worker == w && c.state == acked {
		w.hub.reroute(c, errEnded, newJitter())
	}
}

func (w *linkWorker) Message(name, payload string) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if came, subscribed := w.others[name]; subscribed {
		if w.taking {
			w.others[name] = w.note(came, payload)
		}
		return
	}
	c := w.hub.channels[name]
	if c == nil || c.worker != w || c.state != acked {
		return
	}
	if w.delivered != nil {
		w.delivered[name] = w.note(w.delivered[name], payload)
	}
	c.push(payload)
}

func (w *linkWorker) Lost(err error) { w.cancel(fmt.Errorf("link lost: %w", err)) }
