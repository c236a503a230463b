package adder

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

func topicOf(name string) string { return engine.SideName("", name) + ":adder-topic" }

// keysOf returns the keys of a request.
func keysOf(name, id string) (counter, semaphore string) {
	return engine.SideName("", name) + ":" + id + ":counter", engine.SideName("", name) + ":" + id + ":semaphore"
}

// channelOf returns the channel of the answers to a request.
func channelOf(name, id string) string {
	_, semaphore := keysOf(name, id)
	return "redisson_sc:" + semaphore
}

// request is what an adder publishes.
var request = regexp.MustCompile(`^([01]):([0-9a-f]{32})$`)

// lastRequest returns what the last message in box asks for; "" if there is none.
func lastRequest(box *harness.Inbox) (what, id string) {
	for _, event := range box.Events() {
		found := request.FindStringSubmatch(event.Payload)
		must.If(found == nil, "the request %q is not Redisson's", event.Payload)
		what, id = found[1], found[2]
	}
	return what, id
}

// answersAPeer has a peer ask, which finds keys that it has not made, or has.
func answersAPeer(ctx context.Context, e *harness.Env) {
	c := engine.Clients(ctx, e, 1)[0]
	for _, name := range names(e) {
		a := open(ctx, c, name)
		a.Add(7)
		counter, semaphore := keysOf(name, "sum")
		box, _ := e.Listen(ctx, e.Backend(ctx), channelOf(name, "sum"))
		e.Publish(ctx, topicOf(name), "1:sum")
		box.AwaitMessage(ctx, "1")
		wantsAnEnd(ctx, e, counter)
		wantsAnEnd(ctx, e, semaphore)
		e.Publish(ctx, topicOf(name), "1:sum") // As if it came from another adder.
		box.AwaitMessage(ctx, "2")
		e.WantText(ctx, counter, "14")
		e.WantText(ctx, semaphore, "2")

		counter, semaphore = keysOf(name, "reset")
		box, _ = e.Listen(ctx, e.Backend(ctx), channelOf(name, "reset"))
		e.Publish(ctx, topicOf(name), "0:reset")
		box.AwaitMessage(ctx, "1")
		e.WantText(ctx, semaphore, "1")
		e.WantText(ctx, counter, "")
		wantsAnEnd(ctx, e, semaphore)
		wants(ctx, a, 0)
	}
}

// asksAPeer has a peer answer, as Redisson does. No key of the last request is left.
func asksAPeer(ctx context.Context, e *harness.Env) {
	c := engine.Clients(ctx, e, 1)[0]
	for _, name := range names(e) {
		a := open(ctx, c, name)
		a.Add(7)
		box, sub := e.Listen(ctx, e.Backend(ctx), topicOf(name))
		e.AwaitSubscribers(ctx, topicOf(name), 2)
		p := &peer{e: e, box: box, name: name}
		p.answersUntil(ctx, must.Beside(func() { wants(ctx, a, 107) }))
		p.answersUntil(ctx, must.Beside(func() { must.Do(a.Reset(ctx)) }))
		sub.Cancel()
		e.AwaitSubscribers(ctx, topicOf(name), 1)
		wants(ctx, a, 0)
	}
}

// peer answers requests as Redisson does. It has counted 100.
type peer struct {
	e    *harness.Env
	box  *harness.Inbox
	name string
	seen int // requests
}

// answersUntil answers each request once, until the asker is done, who must wait for it.
func (p *peer) answersUntil(ctx context.Context, asker <-chan error) {
	harness.NotYet("who asks", asker)
	for {
		for _, event := range p.box.Events()[p.seen:] {
			p.seen++
			p.answer(ctx, event.Payload)
		}
		select {
		case err := <-asker:
			must.Do(err)
			_, id := lastRequest(p.box)
			for _, key := range pair(keysOf(p.name, id)) {
				p.e.WantText(ctx, key, "")
			}
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (p *peer) answer(ctx context.Context, payload string) {
	what, id, _ := strings.Cut(payload, ":")
	counter, semaphore := keysOf(p.name, id)
	if what == "1" {
		p.e.Command(ctx, "INCRBY", counter, "100")
	}
	n := must.Get(p.e.Command(ctx, "INCR", semaphore).Int())
	p.e.Publish(ctx, channelOf(p.name, id), fmt.Sprint(n))
}

func sumsUnderAPrefix(ctx context.Context, e *harness.Env) {
	whole := e.Tag + "-adder"
	a := open(ctx, engine.Clients(ctx, e, 1)[0], whole)
	named := engine.Prefixed(ctx, e, whole)
	b := open(ctx, named.Client, named.Name)
	a.Add(1)
	b.Add(2)
	wants(ctx, a, 3)
	wants(ctx, b, 3)
}
