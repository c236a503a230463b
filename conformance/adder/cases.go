// Package adder judges LongAdder and DoubleAdder. They are not declared: what an adder has counted is at no
// key, and no script answers a sum, but several clients together.
package adder

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// Promises are those of the doc comments of package primitives.
var Promises = map[string]string{
	"Adder.Sum": `A sum has all additions from before the call, on any client, to adders that are open, and no addition
from after its return. It changes nothing. A sum beyond the range is ErrOverflow.`,
	"Adder.Reset": `When Reset has returned, no later sum has an addition from before the call.`,
	"Adder.OneReceiver": `The adders of one name over one backend share a subscription, and answer a request
once, with the sum of their counts. The count of a closed adder is gone.`,
	"Adder.Answers": `Sum and Reset wait until each receiver of the request has answered. After a minute, or at the
end of the context, an UnansweredError says how many have; the keys of the request end by themselves. A client that asks while its link is
being restored counts itself.`,
	"Adder.Wire": `The channel, the requests and the keys are Redisson's.`,
}

// Cases are those of adders. TestAdderStress of hasptest/primitives judges sums that overlap with other calls.
func Cases() []harness.Case {
	return []harness.Case{
		newCase("SumsOverClients", "Sum", sumsOverClients, counts...),
		newCase("SumOverflows", "Sum", overflows, counts...),
		newCase("AnswersAPeer", "Wire", answersAPeer, counts...),
		newCase("AsksAPeer", "Wire", asksAPeer, counts...),
		newCase("NeedsMessagesThatAreCounted", "Answers", needsMessages),
	}
}

func newCase(name, clause string, run func(context.Context, *harness.Env), needs ...harness.Need) harness.Case {
	return harness.NewCase(Promises, "Adder"+name, "Adder."+clause, needs, run)
}

// counts are the needs of messages whose receivers the server counts, all of them.
var counts = []harness.Need{{Reason: harness.Sharded.Reason, Has: func(h *harness.Harness) bool {
	return !h.Capabilities.Cluster || harness.Sharded.Has(h)
}}, harness.PubSub}

// names are a name in braces and a plain one.
func names(e *harness.Env) []string { return []string{e.Key("adder"), e.Tag + "-plain"} }

func open(ctx context.Context, c *primitives.Client, name string) *primitives.LongAdder {
	return must.Get(c.OpenLongAdder(ctx, name))
}

// wants fails unless a sum is n.
func wants(ctx context.Context, a *primitives.LongAdder, n int64) { must.Return("Sum", n)(a.Sum(ctx)) }

// sumsOverClients has two adders on each of three clients, one of which has a prefix. Each resets all of them.
func sumsOverClients(ctx context.Context, e *harness.Env) {
	for _, name := range names(e) {
		clients := append([]engine.Named{engine.Prefixed(ctx, e, name)}, named(engine.Clients(ctx, e, 2), name)...)
		var all []*primitives.LongAdder
		for _, c := range clients {
			all = append(all, open(ctx, c.Client, c.Name), open(ctx, c.Client, c.Name))
		}
		for i, asks := range all {
			for n, a := range all {
				a.Add(int64(n))
			}
			asks.Decrement()
			wants(ctx, all[(i+1)%len(all)], 14)
			must.Do(asks.Reset(ctx))
			wants(ctx, all[(i+1)%len(all)], 0)
		}
		all[0].Increment()
		must.Do(all[0].Close())
		all[5].Increment()
		wants(ctx, all[1], 1)
		_, err := all[0].Sum(ctx)
		must.Wrap(err, primitives.ErrClosed)
	}
}

// named are the objects of a name as clients see them.
func named(clients []*primitives.Client, name string) (all []engine.Named) {
	for _, c := range clients {
		all = append(all, engine.Named{Client: c, Name: name})
	}
	return all
}

// overflows has sums of two clients beyond the range, of both kinds, and sums of fractions. A sum of three clients is in
// the range in whichever order they answer, though that of two of them is not.
func overflows(ctx context.Context, e *harness.Env) {
	clients := engine.Clients(ctx, e, 3)
	one, two := open(ctx, clients[0], e.Key("adder")), open(ctx, clients[1], e.Key("adder"))
	one.Add(math.MaxInt64)
	wants(ctx, two, math.MaxInt64)
	two.Increment()
	must.Refuse[int64]("Sum", primitives.ErrOverflow)(one.Sum(ctx))
	two.Add(-2)
	wants(ctx, one, math.MaxInt64-1)
	open(ctx, clients[2], e.Key("adder")).Increment()
	for range 10 {
		wants(ctx, two, math.MaxInt64)
	}
	x := must.Get(clients[0].OpenDoubleAdder(ctx, e.Key("double")))
	y := must.Get(clients[1].OpenDoubleAdder(ctx, e.Key("double")))
	for _, c := range []struct{ x, y, sum float64 }{
		{0.125, -0.5, -0.375}, {1e21, 0, 1e21}, {-1e-7, 0, -1e-7}, {5e15, 0.5, 5e15 + 0.5},
		{math.MaxFloat64, math.MaxFloat64, math.Inf(1)}, {math.NaN(), 1, math.Inf(1)}, {1, math.Inf(-1), math.Inf(1)},
	} {
		x.Add(c.x)
		y.Add(c.y)
		if math.IsInf(c.sum, 1) {
			must.Refuse[float64]("Sum", primitives.ErrOverflow)(y.Sum(ctx))
		} else {
			must.Return("Sum", c.sum)(y.Sum(ctx))
		}
		must.Do(x.Reset(ctx))
	}
	x.Increment()
	y.Decrement()
	y.Decrement()
	must.Return("Sum", -1.0)(x.Sum(ctx))
	z := must.Get(clients[2].OpenDoubleAdder(ctx, e.Key("double")))
	x.Add(math.MaxFloat64)
	y.Add(1e300)
	z.Add(-1e300)
	for range 10 {
		sum := must.Get(z.Sum(ctx))
		must.Not(math.Abs(sum/math.MaxFloat64-1) > 1e-15, "Sum returned %v", sum)
	}
}

// withPeers calls each with an adder that has counted 7, and a peer, for each name and the topic of new and old Redisson.
func withPeers(ctx context.Context, e *harness.Env, each func(a *primitives.LongAdder, p *peer)) {
	c := engine.Clients(ctx, e, 1)[0]
	for _, name := range names(e) {
		for _, end := range []string{":adder-topic", ":topic"} {
			a := open(ctx, c, name)
			a.Add(7)
			each(a, &peer{e, name, engine.SideName("", name) + end})
			wants(ctx, a, 0)
			must.Do(a.Close())
		}
	}
}

// answersAPeer has a peer ask an adder, which answers at the keys that it finds, or makes.
func answersAPeer(ctx context.Context, e *harness.Env) {
	withPeers(ctx, e, func(_ *primitives.LongAdder, p *peer) {
		counter, semaphore := p.asks(ctx, "1", "sum"+p.topic, 2)
		p.wantEnds(ctx, counter, semaphore)
		e.WantText(ctx, counter, "14")
		e.WantText(ctx, semaphore, "2")
		counter, semaphore = p.asks(ctx, "0", "reset"+p.topic, 1)
		e.WantText(ctx, semaphore, "1")
		e.WantText(ctx, counter, "")
	})
}

// asksAPeer has a peer answer an adder.
func asksAPeer(ctx context.Context, e *harness.Env) {
	withPeers(ctx, e, func(a *primitives.LongAdder, p *peer) {
		p.answers(ctx, "1", func() { wants(ctx, a, 107) })
		p.answers(ctx, "0", func() { must.Do(a.Reset(ctx)) })
	})
}

// needsMessages opens an adder, which fails where the server does not count all receivers, or has no messages.
func needsMessages(ctx context.Context, e *harness.Env) {
	c, _ := engine.NewClient(ctx, e, nil)
	_, err := c.OpenLongAdder(ctx, e.Key("adder"))
	if harness.Lacks(e.Harness, counts) == "" {
		must.Do(err)
	} else {
		must.Wrap(err, backend.ErrNotSupported)
	}
}

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
