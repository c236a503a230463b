// Package adder judges LongAdder and DoubleAdder. They are not declared: what an adder has counted is at no
// key, and a sum is no answer of one script, but what several clients say to another.
package adder

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// Cases are those of adders.
func Cases() []harness.Case {
	return []harness.Case{
		newCase("SumsOverClients", "Sum", sumsOverClients),
		newCase("SumIsBetweenItsBounds", "Sum", isBetweenItsBounds),
		newCase("SumOverflows", "Sum", overflows),
		newCase("SumsFractions", "Sum", sumsFractions),
		newCase("ResetsAll", "Reset", resetsAll),
		newCase("AnswersOnceForABackend", "OneReceiver", answersOnce),
		newCase("UnsubscribesWithTheLast", "OneReceiver", unsubscribesWithTheLast),
		newCase("SaysHowManyHaveAnswered", "Answers", saysHowManyHaveAnswered),
		newCase("OutlivesABrokenLink", "Answers", outlivesABrokenLink, harness.Faults),
		newCase("AnswersAPeer", "Wire", answersAPeer),
		newCase("AsksAPeer", "Wire", asksAPeer),
		newCase("SumsUnderAPrefix", "Wire", sumsUnderAPrefix),
		harness.NewCase(Promises, "AdderNeedsMessagesThatAreCounted", "Adder.Answers", nil, needsMessages),
	}
}

func newCase(
	name, clause string, run func(context.Context, *harness.Env), needs ...harness.Need,
) harness.Case {
	return harness.NewCase(Promises, "Adder"+name, "Adder."+clause, append(needs, counts), run)
}

// counts is the need of messages whose receivers the server counts, all of them.
func counts(h *harness.Harness) string {
	if h.Capabilities.Cluster {
		return harness.Sharded(h)
	}
	return harness.PubSub(h)
}

// names are one in braces and a plain one.
func names(e *harness.Env) []string { return []string{e.Key("adder"), e.Tag + "-plain"} }

func open(ctx context.Context, c *primitives.Client, name string) *primitives.LongAdder {
	return must.Get(c.OpenLongAdder(ctx, name))
}

// wants fails unless a sum is n.
func wants(ctx context.Context, a *primitives.LongAdder, n int64) {
	must.Return("Sum", n)(a.Sum(ctx))
}

// sumsOverClients has two adders on each of three clients.
func sumsOverClients(ctx context.Context, e *harness.Env) {
	for _, name := range names(e) {
		var all []*primitives.LongAdder
		for i, c := range engine.Clients(ctx, e, 3) {
			all = append(all, open(ctx, c, name), open(ctx, c, name))
			all[2*i].Add(int64(i + 1))
			all[2*i+1].Decrement()
		}
		for _, a := range all {
			wants(ctx, a, 3)
		}
		all[0].Close()
		all[5].Increment()
		wants(ctx, all[1], 3)
		wants(ctx, all[5], 3)
		_, err := all[0].Sum(ctx)
		must.Wrap(err, primitives.ErrClosed)
	}
}

// isBetweenItsBounds asks while others add.
func isBetweenItsBounds(ctx context.Context, e *harness.Env) {
	clients := engine.Clients(ctx, e, 3)
	var begun, done atomic.Int64
	stop := make(chan struct{})
	var adding []<-chan error
	all := make([]*primitives.LongAdder, 2*len(clients))
	for i := range all {
		all[i] = open(ctx, clients[i%len(clients)], e.Key("adder"))
		adding = append(adding, must.Beside(func() { add(all[i], &begun, &done, stop) }))
	}
	for i := range 30 {
		least := done.Load()
		sum := must.Get(all[i%len(all)].Sum(ctx))
		most := begun.Load()
		must.If(sum < least || sum > most, "a sum is %d: %d were added before, and %d in all", sum, least, most)
	}
	close(stop)
	for _, ended := range adding {
		harness.Finish("who adds", ended)
	}
	for _, a := range all {
		wants(ctx, a, done.Load())
	}
}

// add adds until it is stopped.
func add(a *primitives.LongAdder, begun, done *atomic.Int64, stop chan struct{}) {
	for n := int64(1); ; n++ {
		select {
		case <-stop:
			return
		case <-time.After(time.Millisecond):
		}
		begun.Add(n)
		a.Add(n)
		done.Add(n)
	}
}

// overflows has sums beyond the range, of both kinds.
func overflows(ctx context.Context, e *harness.Env) {
	clients := engine.Clients(ctx, e, 2)
	one, two := open(ctx, clients[0], e.Key("adder")), open(ctx, clients[1], e.Key("adder"))
	one.Add(math.MaxInt64)
	wants(ctx, two, math.MaxInt64)
	two.Increment()
	must.Refuse[int64]("Sum", primitives.ErrOverflow)(one.Sum(ctx))
	two.Add(-2)
	wants(ctx, one, math.MaxInt64-1)
	x := must.Get(clients[0].OpenDoubleAdder(ctx, e.Key("double")))
	y := must.Get(clients[1].OpenDoubleAdder(ctx, e.Key("double")))
	for _, bad := range [][]float64{{math.MaxFloat64, math.MaxFloat64}, {math.NaN(), 1}, {1, math.Inf(-1)}} {
		x.Add(bad[0])
		y.Add(bad[1])
		must.Refuse[float64]("Sum", primitives.ErrOverflow)(y.Sum(ctx))
		must.Do(x.Reset(ctx))
	}
	must.Return("Sum", 0.0)(x.Sum(ctx))
}

func sumsFractions(ctx context.Context, e *harness.Env) {
	clients := engine.Clients(ctx, e, 2)
	x := must.Get(clients[0].OpenDoubleAdder(ctx, e.Key("double")))
	y := must.Get(clients[1].OpenDoubleAdder(ctx, e.Key("double")))
	for _, c := range []struct{ x, y, sum float64 }{
		{0.125, -0.5, -0.375}, {1e21, 0, 1e21}, {-1e-7, 0, -1e-7}, {5e15, 0.5, 5e15 + 0.5},
	} {
		x.Add(c.x)
		y.Add(c.y)
		must.Return("Sum", c.sum)(y.Sum(ctx))
		must.Do(y.Reset(ctx))
	}
	x.Increment()
	y.Decrement()
	y.Decrement()
	must.Return("Sum", -1.0)(x.Sum(ctx))
}

func resetsAll(ctx context.Context, e *harness.Env) {
	clients := engine.Clients(ctx, e, 3)
	for _, name := range names(e) {
		var all []*primitives.LongAdder
		for _, c := range clients {
			all = append(all, open(ctx, c, name))
		}
		for i, a := range all {
			for _, other := range all {
				other.Add(7)
			}
			must.Do(a.Reset(ctx))
			wants(ctx, all[(i+1)%len(all)], 0)
		}
	}
}

// overOne makes two clients over one backend.
func overOne(ctx context.Context, e *harness.Env) (one, two *primitives.Client) {
	b := e.Backend(ctx)
	one, two = must.Get(primitives.New(b, nil)), must.Get(primitives.New(b, nil))
	e.AtEnd(func(ctx context.Context) { _, _ = one.Close(ctx), two.Close(ctx) })
	return one, two
}

// answersOnce has a peer ask two clients over one backend: they are one receiver of the request.
func answersOnce(ctx context.Context, e *harness.Env) {
	one, two := overOne(ctx, e)
	name := e.Key("adder")
	a, b := open(ctx, one, name), open(ctx, two, name)
	open(ctx, one, name).Add(1)
	a.Add(10)
	b.Add(100)
	e.AwaitSubscribers(ctx, topicOf(name), 1)
	for i := range 10 {
		id := fmt.Sprint("peer", i)
		e.Publish(ctx, topicOf(name), "1:"+id)
		_, semaphore := keysOf(name, id)
		harness.Eventually(ctx, "an answer", func() bool { return e.Count(ctx, semaphore) > 0 })
	}
	for i := range 10 { // A second answer would have come by now, to most.
		counter, semaphore := keysOf(name, fmt.Sprint("peer", i))
		e.WantText(ctx, semaphore, "1")
		e.WantText(ctx, counter, "111")
	}
	wants(ctx, a, 111)
	must.Do(one.Close(ctx))
	wants(ctx, b, 100)
}

func unsubscribesWithTheLast(ctx context.Context, e *harness.Env) {
	one, two := overOne(ctx, e)
	name := e.Key("adder")
	for range 3 {
		a, b := open(ctx, one, name), open(ctx, two, name)
		b.Add(2)
		a.Close()
		wants(ctx, b, 2)
		e.AwaitSubscribers(ctx, topicOf(name), 1)
		b.Close()
		e.AwaitSubscribers(ctx, topicOf(name), 0)
	}
}

// saysHowManyHaveAnswered has a peer that hears, and does not answer.
func saysHowManyHaveAnswered(ctx context.Context, e *harness.Env) {
	c := engine.Clients(ctx, e, 1)[0]
	name := e.Key("adder")
	a := open(ctx, c, name)
	box, _ := e.Listen(ctx, e.Backend(ctx), topicOf(name))
	e.AwaitSubscribers(ctx, topicOf(name), 2)
	harness.Eventually(ctx, "an answer", func() bool {
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		var missing *primitives.UnansweredError
		_, err := a.Sum(short)
		must.Wrap(err, context.DeadlineExceeded)
		return errors.As(err, &missing) && *missing == primitives.UnansweredError{Asked: 2, Answered: 1}
	})
	_, id := lastRequest(box)
	for _, key := range pair(keysOf(name, id)) {
		wantsAnEnd(ctx, e, key)
	}
}

func pair(counter, semaphore string) []string { return []string{counter, semaphore} }

// wantsAnEnd fails unless the key is there, and ends by itself within an hour.
func wantsAnEnd(ctx context.Context, e *harness.Env, key string) {
	left := must.Get(e.Command(ctx, "PTTL", key).Int())
	must.If(left <= 0 || left > time.Hour.Milliseconds(), "key %s has a TTL of %d ms", key, left)
}

// outlivesABrokenLink breaks the links of one of two clients. Sums may fail, or leave it out, until its
// subscription is restored. Its own sums always have what it has counted.
func outlivesABrokenLink(ctx context.Context, e *harness.Env) {
	whole := engine.Clients(ctx, e, 1)[0]
	c, in := engine.NewClient(ctx, e, nil)
	one, two := open(ctx, whole, e.Key("adder")), open(ctx, c, e.Key("adder"))
	one.Add(3)
	two.Add(40)
	for range 5 {
		in.Link.Cut()
		for _, a := range []*primitives.LongAdder{two, one} {
			harness.Eventually(ctx, "the whole sum", func() bool {
				short, cancel := context.WithTimeout(ctx, 2*time.Second)
				defer cancel()
				sum, err := a.Sum(short)
				must.If(err == nil && a == two && sum < 40, "the sum of who added 40 is %d", sum)
				return err == nil && sum == 43
			})
		}
	}
}

// needsMessages: where not all receivers are counted, or there are no messages, no adder can be opened.
func needsMessages(ctx context.Context, e *harness.Env) {
	c, _ := engine.NewClient(ctx, e, nil)
	_, err := c.OpenLongAdder(ctx, e.Key("adder"))
	if counts(e.Harness) == "" {
		must.Do(err)
	} else {
		must.Wrap(err, backend.ErrNotSupported)
	}
}
