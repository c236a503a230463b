package contract

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// refusal is what a client gets instead of a reply: an error reply, before which the server has executed nothing, or
// something else in RESP, which comes instead of the reply to what it has executed; "": the connection breaks.
type refusal string

// refusals are what servers say, and what stands before servers.
var refusals = []refusal{
	"-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
	"-LOADING Redis is loading the dataset in memory",
	"-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
	"-READONLY You can't write against a read only replica.",
	"-NOPERM User app has no permissions to run the command",
	"-NOAUTH Authentication required.",
	"-WRONGPASS invalid username-password pair or user is disabled.",
	"-CLUSTERDOWN Hash slot not served",
	"-TRYAGAIN Multiple keys request during rehashing of slot",
	"-MOVED 1 127.0.0.1:1",
	"-ASK 1 127.0.0.1:1",
	"-OOM command not allowed when used memory > 'maxmemory'.",
	"-NOREPLICAS Not enough good replicas to write.",
	"-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
	"-NOSCRIPT No matching script. Please use EVAL.",
	"-ERR unknown command, with args beginning with:",
	refusal("-ERR " + strings.Repeat("x", 64<<10)),
	"-", "$-1", ":12345678", "+OK", "*0", push, "",
}

// push is a push and an attribute, before the reply. RESP2 has neither: there an array is the reply, for a client cannot
// know which of two replies is too many.
const push = ">2\r\n$4\r\nsome\r\n$1\r\nx\r\n|1\r\n$1\r\na\r\n*1\r\n$1\r\nb"

// values are the replies that refusals are.
var values = map[refusal]backend.Reply{
	"$-1": {}, ":12345678": backend.IntegerReply(12345678), "+OK": backend.StringReply("OK"), "*0": list(),
	push: list(backend.StringReply("some"), backend.StringReply("x")),
}

// text is what an error reply says, without the ERR that drivers cut off.
func (r refusal) text() (text string, isError bool) {
	if text, isError = strings.CutPrefix(string(r), "-"); isError {
		return strings.TrimPrefix(text, "ERR "), true
	}
	return "", false
}

// instead is for [harness.Link].
func (r refusal) instead(reply string, resp3 bool) string {
	switch {
	case r == "":
		return ""
	case r != push:
		return string(r) + "\r\n"
	case resp3:
		return push + "\r\n" + reply
	}
	return "*2\r\n$4\r\nsome\r\n$1\r\nx\r\n"
}

// place is where a server refuses.
type place struct {
	at     func(words []string) bool // nil: two of the cell's calls
	once   bool                      // only the first time that each comes
	fresh  bool                      // all connections are new
	cold   bool                      // the server does not know the script
	before bool                      // what is refused there comes before the script
	act    func(ctx context.Context, c *cell)
}

// cell is a refusal at a place.
type cell struct {
	*harness.Env
	place
	refusal

	in  *harness.Instance
	sub backend.Subscription // to the channel d
	hit <-chan struct{}      // closed when the refusal has happened

	began time.Time // when the server began to refuse
}

// is returns what is true for some commands; none: for all.
func is(commands ...string) func([]string) bool {
	return func(words []string) bool {
		return len(commands) == 0 || slices.Contains(commands, strings.ToUpper(words[0]))
	}
}

// refusalCases are about servers that refuse: R12.
func refusalCases() []harness.Case {
	return []harness.Case{
		judged("RefusedHandshake", place{at: is("HELLO", "AUTH", "CLIENT", "SELECT"), fresh: true, before: true, act: callAll}),
		judged("RefusedNodes", place{at: is("CLUSTER", "COMMAND", "INFO", "ROLE", "SENTINEL"), fresh: true, before: true, act: callAll}),
		judged("RefusedLoad", place{at: is("SCRIPT"), cold: true, before: true, act: callAll}),
		judged("RefusedCall", place{act: callAll}),
		judged("RefusedOnce", place{once: true, act: callAll}),
		judged("RefusedAll", place{at: is(), fresh: true, act: callAll}),
		judged("RefusedWait", place{at: is("WAIT"), act: waitAll}, harness.ReplicaWaiter),
	}
}

// refusedSubscriptionCases are about servers that refuse subscribers: R12.
func refusedSubscriptionCases() []harness.Case {
	subscribe := func(words []string) bool { // to a channel of the suite; a driver subscribes to sentinels
		return is("SUBSCRIBE", "SSUBSCRIBE")(words) && strings.Contains(words[1], "conf-")
	}
	return []harness.Case{
		judged("RefusedSubscribe", place{at: subscribe, act: subscribeAnew}, harness.PubSub),
		judged("RefusedResubscribe", place{at: subscribe, fresh: true, act: func(ctx context.Context, c *cell) {
			harness.Await(ctx, "the refusal", c.hit)
		}}, harness.PubSub),
		judged("RefusedUnsubscribe", place{at: is("UNSUBSCRIBE", "SUNSUBSCRIBE"), act: unsubscribe}, harness.PubSub),
		// A backend makes sure of an idle link more than once in this time.
		judged("RefusedPing", place{at: is(), act: func(context.Context, *cell) { time.Sleep(noticed / 2) }}, harness.PubSub),
	}
}

// side is how many cells of a case connect at once.
const side = 8

// judged returns a case that judges each refusal at a place, side by side: most of their time they wait.
func judged(name string, p place, needs ...harness.Need) harness.Case {
	return of("R12", name, func(ctx context.Context, e *harness.Env) {
		turns := make(chan struct{}, side)
		must.Together(len(refusals), func(i int) {
			what := fmt.Sprintf("%.20q at %s", refusals[i], name)
			if e.Spares != nil && e.Spares(what) {
				return
			}
			// If the driver panics, the traceback has the label of its goroutine.
			pprof.Do(ctx, pprof.Labels("refusal", what), func(ctx context.Context) {
				must.In(what, func() { judge(ctx, e, p, refusals[i], turns) })
			})
		})
	}, append(needs, harness.Faults)...)
}

// judge judges a cell, which takes a turn until it is connected.
func judge(ctx context.Context, e *harness.Env, p place, r refusal, turns chan struct{}) {
	c := &cell{Env: harness.NewEnv(e.Harness), place: p, refusal: r}
	defer c.Close()
	turns <- struct{}{}
	done := sync.OnceFunc(func() { <-turns })
	defer done()
	c.in = c.Open(ctx)
	b, box := c.in.Backend, new(harness.Inbox)
	if recovers(ctx, c.Env, b); !p.cold {
		must.Do(run(ctx, b, c.script(), c.Key("none"), ""))
	}
	if c.Capabilities.PubSub {
		box, _ = c.Listen(ctx, b, c.Key("c"))
		_, c.sub = c.Listen(ctx, b, c.Key("d"))
	}
	stop := c.refuse(ctx)
	done()
	p.act(ctx, c)
	stop()
	ctx, cancel := context.WithTimeout(ctx, harness.Patience/2)
	defer cancel()
	recovers(ctx, c.Env, b)
	if c.Capabilities.PubSub {
		hearAgain(ctx, c.Env, box, c.Key("c"))
		box, _ = c.Listen(ctx, b, c.Key("d"))
		hearAgain(ctx, c.Env, box, c.Key("d"))
	}
}

// refuse makes the server refuse until stop.
func (c *cell) refuse(ctx context.Context) (stop func()) {
	if c.fresh {
		c.disconnect(ctx)
	}
	var hit sync.Map
	_, isError := c.text()
	c.hit, stop = c.in.Link.Answer(func(words []string) bool {
		if c.at != nil {
			return c.at(words)
		}
		if !harness.RunsScript(words, c.Key("0")) && !harness.RunsScript(words, c.Key("3")) {
			return false
		}
		_, again := hit.LoadOrStore(words[3], true)
		return !c.once || !again
	}, !isError, c.instead)
	c.in.Link.Restore()
	c.began = time.Now()
	return stop
}

// disconnect breaks all connections, none of which can be made until Restore, and waits until the driver knows of those
// that the cell's calls use.
func (c *cell) disconnect(ctx context.Context) {
	c.in.Link.Refuse()
	fast := c.script()
	fast.FailFast = true
	harness.Eventually(ctx, "the end of the connections", func() bool {
		for range 4 {
			c.callAll(ctx, fast, func(_ int, o backend.Outcome) { must.Wrap(o.Err, backend.ErrUnavailable) })
		}
		return true
	})
}

// script counts its runs at its key, and returns its argument.
func (c *cell) script() *backend.Script {
	return c.Script("redis.call('incr', KEYS[1]) return ARGV[1]", 1, backend.RetryNever)
}

// callAll runs calls, the last alone and the others together. What a place refuses alone are the first and the last.
func (c *cell) callAll(ctx context.Context, s *backend.Script, judge func(i int, o backend.Outcome)) {
	all, ctx := calls(4, s, c.Key), context.WithoutCancel(ctx)
	must.Together(2, func(i int) {
		if i == 0 {
			reply, err := c.in.Backend.Run(ctx, s, all[3].Keys, all[3].Args)
			judge(3, backend.Outcome{Reply: reply, Err: err})
		} else if b, ok := c.in.Backend.(backend.Batcher); ok {
			for i, outcome := range outcomes(ctx, b, all[:3]) {
				judge(i, outcome)
			}
		}
	})
}

func callAll(ctx context.Context, c *cell) {
	c.callAll(ctx, c.script(), func(i int, o backend.Outcome) { c.want(ctx, i, o) })
}

// want fails unless the outcome of call i is of the class of R12.
func (c *cell) want(ctx context.Context, i int, o backend.Outcome) {
	number := fmt.Sprint(i)
	ran, own := c.Count(ctx, c.Key(number)), backend.StringReply(number)
	not := func(bad bool, want string) {
		must.Not(bad, "call %d ran %d times and returned %v, %.300v: %s", i, ran, o.Reply, o.Err, want)
	}
	value, replaced := values[c.refusal]
	if o.Err == nil {
		not(ran != 1 || !harness.Same(o.Reply, own) && !(replaced && harness.Same(o.Reply, value)), "the server has not said that")
		return
	}
	text, isError := c.text()
	code, _, _ := strings.Cut(text, " ")
	maybe, unknown := backend.MayHaveRun(o.Err), errors.Is(o.Err, backend.ErrIndeterminate)
	unavailable := errors.Is(o.Err, backend.ErrUnavailable)
	redirect := code == "MOVED" || code == "ASK"
	// Another server may have the last word, or a time-out, of 5 s for drivers, if the machine is slow.
	elsewhere := redirect || c.FailOver != nil || time.Since(c.began) > 4*time.Second
	not(c.at == nil && i%3 != 0 && c.refusal != "", "another call was refused")
	not(ran > 1 || ran > 0 && !maybe, "that says that it did not run")
	not(unavailable && maybe, "two classes")
	not(isError && !elsewhere && !strings.Contains(o.Err.Error(), text), "want the server's text")
	switch {
	case c.refusal == "" && !c.fresh: // Calls share connections.
		not(!unknown && !unavailable, "want an unknown outcome")
	case redirect: // A driver may not say how far a command came that it sent twice.
	case c.before:
		not(maybe && isError, "it was not sent")
	case backend.NotExecuted(code):
		not(!unavailable, "want ErrUnavailable")
	case isError && !(c.fresh && unavailable):
		not(unknown || !errors.As(o.Err, new(*backend.ServerError)), "want the server's error")
	}
}

// waitAll has calls wait for replicas. The scripts run.
func waitAll(ctx context.Context, c *cell) {
	text, isError := c.text()
	for i, o := range outcomes(context.WithoutCancel(ctx), waiting(c.in), calls(3, c.script(), c.Key)) {
		c.WantCount(ctx, c.Key(fmt.Sprint(i)), 1)
		if errors.Is(o.Err, backend.ErrIndeterminate) && c.refusal == "" {
			continue // Replies that had arrived may go with the connection.
		}
		must.Not(!harness.Same(o.Reply, backend.StringReply(fmt.Sprint(i))), "a call returned %v, %w", o.Reply, o.Err)
		must.Not(o.Err == nil && isError, "WAIT was refused, and the call returned no error")
		must.Not(o.Err != nil && !(errors.Is(o.Err, backend.ErrReplicas) && strings.Contains(o.Err.Error(), text)), "got %w", o.Err)
	}
}

// subscribeAnew subscribes, which can succeed only if a true acknowledgement comes.
func subscribeAnew(ctx context.Context, c *cell) {
	ctx, cancel := context.WithTimeout(ctx, 5*soonEnded)
	defer cancel()
	err := harness.Promptly(2*prompt, "Subscribe", func() error { return subscribe(ctx, c.in.Backend, c.Key("new")) })
	must.Not(err == nil && c.refusal != push, "Subscribe returned no error")
}

// unsubscribe ends a subscription, and gives the backend the time to say so to the server, if it does.
func unsubscribe(_ context.Context, c *cell) {
	c.sub.Cancel()
	select {
	case <-c.hit:
	case <-time.After(soonEnded):
	}
}
