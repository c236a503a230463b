package listen

import (
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// slowSubscription is how long a sound server takes for a subscription at most. Behind a slower one there may have been
// a restart.
const slowSubscription = 500 * time.Millisecond

// Watches are subscriptions to channels on which nobody publishes, one on each node that has leases of the client. They
// break with the server: so a client that holds leases notices that without any other traffic, too.
type Watches struct {
	client *Client
	nodeOf func(channel string) string

	mu     sync.Mutex
	all    map[string]*watch // by channel
	logged bool              // that one failed
}

type watch struct {
	watches *Watches
	name    string
	began   time.Time
	channel Channel
}

// NewWatches returns the watches of a client, of which there are none. nodeOf names the node of a channel.
func NewWatches(c *Client, nodeOf func(channel string) string) *Watches {
	w := &Watches{client: c, nodeOf: nodeOf, all: make(map[string]*watch)}
	DropAtClose(c, &w.mu, w.all)
	return w
}

// Keep ensures that there is one watch on each node of channels, which has one channel for each. If these are all nodes
// that have leases, Keep ends the watches on others.
func (w *Watches) Keep(channels map[string]string, all bool) {
	for _, cancel := range w.keep(channels, all) {
		cancel()
	}
}

func (w *Watches) keep(channels map[string]string, all bool) (cancels []func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := make(map[string]bool)
	for name, one := range w.all {
		node := w.nodeOf(name)
		if _, needed := channels[node]; kept[node] || all && !needed {
			cancels = append(cancels, one.Drop())
			continue
		}
		kept[node] = true
	}
	for node, name := range channels {
		if !kept[node] && w.client.ctx.Err() == nil {
			w.begin(name)
		}
	}
	return cancels
}

// begin begins a watch. The caller holds the mutex.
func (w *Watches) begin(name string) {
	one := &watch{watches: w, name: name, began: time.Now()}
	one.channel.Init(w.client, name, &w.mu, one)
	one.channel.Silent, one.channel.failureLogged = true, w.logged
	w.all[name] = one
	one.channel.Join()
}

// Handle implements [Listener]. The channel has reported a gap.
func (*watch) Handle(backend.Event) {}

func (w *watch) Acknowledged() {
	if time.Since(w.began) >= slowSubscription {
		w.channel.reportChange(nil)
	}
}

func (*watch) Poll() {}

func (w *watch) Drop() (cancel func()) {
	w.watches.logged = w.channel.failureLogged
	delete(w.watches.all, w.name)
	return w.channel.Drop()
}

// Alarm is a timer that knows when it fires. The mutex of its waiters guards it.
type Alarm struct {
	Ring  func() // calls Fired first, with the mutex; set before Within
	timer *time.Timer
	at    time.Time // zero: it is not armed
	ended bool
}

// Within makes the alarm ring in d, unless it rings earlier.
func (a *Alarm) Within(d time.Duration) {
	at := time.Now().Add(d)
	if a.ended || !a.at.IsZero() && !at.Before(a.at) {
		return
	}
	a.at = at
	if a.timer == nil {
		a.timer = time.AfterFunc(d, a.Ring)
		return
	}
	a.timer.Reset(d)
}

// Fired notes that the alarm is no longer armed.
func (a *Alarm) Fired() { a.at = time.Time{} }

// Stop disarms the alarm.
func (a *Alarm) Stop() {
	if a.timer != nil {
		a.timer.Stop()
		a.at = time.Time{}
	}
}

// End disarms the alarm for good: otherwise it would keep a closed client in memory.
func (a *Alarm) End() {
	a.Stop()
	a.ended = true
}
