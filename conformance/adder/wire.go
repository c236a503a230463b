package adder

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// peer is an adder of another program that has counted 100. It answers requests as Redisson does.
type peer struct {
	*harness.Env
	name  string
	topic string
}

// keys returns the keys of a request, and the channel of the answers to it.
func (p *peer) keys(id string) (counter, semaphore, channel string) {
	begin := engine.SideName("", p.name) + ":" + id
	return begin + ":counter", begin + ":semaphore", "redisson_sc:" + begin + ":semaphore"
}

// wantEnds fails unless there are such keys, and each ends by itself within an hour.
func (p *peer) wantEnds(ctx context.Context, keys ...string) {
	for _, key := range keys {
		left := must.Get(p.Command(ctx, "PTTL", key).Int())
		must.Not(left <= 0 || left > time.Hour.Milliseconds(), "key %s has a TTL of %d ms", key, left)
	}
}

// asks sends a request n times, each for another adder, and awaits the answers of the only adder. It returns the keys.
func (p *peer) asks(ctx context.Context, what, id string, n int) (counter, semaphore string) {
	counter, semaphore, channel := p.keys(id)
	box, _ := p.Listen(ctx, p.Backend(ctx), channel)
	for i := range n {
		p.Publish(ctx, p.topic, what+":"+id)
		box.AwaitMessage(ctx, fmt.Sprint(i+1))
	}
	return counter, semaphore
}

// request is the form of Redisson's requests.
var request = regexp.MustCompile(`^([01]):([0-9a-f]{32})$`)

// answers answers each request once until ask returns, which must wait for that. Ask leaves no key of the last
// request, since all have answered it.
func (p *peer) answers(ctx context.Context, kind string, ask func()) {
	b := p.Backend(ctx)
	box, _ := p.Listen(ctx, b, p.topic)
	p.AwaitSubscribers(ctx, p.topic, 2)
	asker := must.Start(ask)
	harness.NotYet("the asker", asker)
	var counter, semaphore, channel string
	for seen, done := 0, false; !done; {
		for _, event := range box.Events()[seen:] {
			seen++
			found := request.FindStringSubmatch(event.Payload)
			must.Not(found == nil || found[1] != kind, "the request %q is not Redisson's", event.Payload)
			counter, semaphore, channel = p.keys(found[2])
			if kind == "1" {
				p.Command(ctx, "INCRBY", counter, "100")
			}
			p.Publish(ctx, channel, fmt.Sprint(must.Get(p.Command(ctx, "INCR", semaphore).Int())))
		}
		select {
		case err := <-asker:
			must.Do(err)
			done = true
		case <-time.After(5 * time.Millisecond):
		}
	}
	p.WantText(ctx, counter, "")
	p.WantText(ctx, semaphore, "")
	must.Do(b.Close())
	p.AwaitSubscribers(ctx, p.topic, 1)
}
