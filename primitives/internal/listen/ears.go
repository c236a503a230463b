package listen

import (
	"sync"

	"github.com/hasp-go/hasp/backend"
)

// Ears are subscriptions of callers who hear messages while they do other work. Each has one of its own.
type Ears struct {
	client *Client

	mu  sync.Mutex
	all map[*ear]*ear
}

type ear struct {
	ears    *Ears
	channel Channel
	heard   func(event backend.Event, err error)
}

// NewEars returns the ears of a client, of which there are none.
func NewEars(c *Client) *Ears {
	e := &Ears{client: c, all: make(map[*ear]*ear)}
	DropAtClose(c, &e.mu, e.all)
	return e
}

// Hear subscribes in the background, and tries again after failures. It calls heard with each event, and with the error
// of each failure to subscribe, until stop is called or the client is closed. A call that has begun may go on then.
func (e *Ears) Hear(channel string, heard func(event backend.Event, err error)) (stop func()) {
	one := &ear{ears: e, heard: heard}
	e.mu.Lock()
	defer e.mu.Unlock()
	one.channel.Init(e.client, channel, &e.mu, one)
	one.channel.Failed = func(err error) { heard(backend.Event{}, err) }
	if e.client.ctx.Err() == nil {
		e.all[one] = one
		one.channel.Join()
	}
	return one.stop
}

func (e *ear) stop() {
	e.ears.mu.Lock()
	cancel := e.Drop()
	e.ears.mu.Unlock()
	cancel()
}

// Handle implements [Listener].
func (e *ear) Handle(event backend.Event) { e.heard(event, nil) }

// Acknowledged implements [Listener].
func (*ear) Acknowledged() {}

// Poll implements [Listener].
func (*ear) Poll() {}

// Drop implements [Listener].
func (e *ear) Drop() (cancel func()) {
	delete(e.ears.all, e)
	return e.channel.Drop()
}
