// Package latch declares primitives.CountDownLatch for the suite: its promises, its model, its
// operations. It is the smallest declaration of something that waits.
package latch

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/primitives"
)

// Promises are those of the doc comments of package primitives.
var Promises = map[string]string{
	"Latch.Counts": `A latch is set once and counted down to 0, where it is gone. A latch that is not set has the
count 0. A key of another kind is ErrConflict and is not touched.`,

	"Latch.Waiting": `Wait returns when the count is 0, and never while it is above 0. All waiters of all clients
return at 0, when the latch is deleted, and when its life ends: by a message, by a gap of the messages, or by a
bounded poll. It may be set again.`,

	"Latch.Setting": `WaitUntilSet returns when the latch is set: by a message, by a gap of the messages, or by a
bounded poll. Calls of Wait on the same latch do not hold it up. A TTL is set together with the count.`,

	"Latch.Wire": `The key is Redisson's decimal count. Its messages are 1 for a new count and 0 at the end, on its
channel, with braces around the name; names with braces get none where channels are sharded.`,
}

// Op is what happens to a latch.
type Op string

// What happens to a latch.
const (
	Set       Op = "set"
	CountDown Op = "count down"
	Count     Op = "count"  // a Wait that returned nil has seen 0
	IsSet     Op = "is set" // a WaitUntilSet that returned nil has seen it set
	Delete    Op = "delete"
)

// In is one thing that happens to a latch.
type In struct {
	Op  Op
	N   int64         // of Set
	TTL time.Duration // of Set; 0: there is none
}

// Out is the answer.
type Out struct {
	Done    bool  // of Set, IsSet and Delete
	Left    int64 // of CountDown and Count
	Refused bool  // of Count and IsSet: its waiter goes on waiting; a caller does not get it
}

// state is the state of one latch: the count.
type state = engine.State[int64]

// Primitive declares the latch.
var Primitive engine.Subject = &engine.Primitive[int64, In, Out]{
	Name: "Latch", Promises: Promises, Limit: "Latch.Waiting",
	Some: engine.New[int64](2), NoTexts: []string{"1.5", "abc"},
	Step: step, Verb: func(in In) string { return string(in.Op) },
	Asks: asks, Answers: answers, Granted: func(out Out) bool { return !out.Refused },
	CallerView: func(out Out) Out { out.Refused = false; return out },
	Stored:     stored, Channel: channel, Published: published,
	Ops: []engine.Op[int64, In, Out]{
		{Name: "InitCount", Weight: 3, Generate: drawSet(0), Call: call, WriteOnly: true, Refuses: []In{{Op: Set}, {Op: Set, N: -1}}},
		{Name: "InitCountWithTTL", Weight: 1, Generate: drawSet(ttl), Call: call, WriteOnly: true, Refuses: []In{{Op: Set, TTL: ttl}, {Op: Set, N: 1, TTL: time.Microsecond}}},
		{Name: "CountDown", Weight: 3, Generate: draw(CountDown), Call: call},
		{Name: "Count", Weight: 1, Generate: draw(Count), Call: call},
		{Name: "Wait", Weight: 3, Generate: draw(Count), Call: wait, Waits: true, AckOnly: true},
		{Name: "WaitUntilSet", Weight: 2, Generate: draw(IsSet), Call: waitUntilSet, Waits: true},
		{Name: "Delete", Weight: 1, Generate: draw(Delete), Call: call, WriteOnly: true},
	},
	Lived:  func(c *primitives.Client, name string) engine.Lived { return c.NewCountDownLatch(name) },
	Ready:  ready,
	Blocks: func(s state) (In, bool) { return In{Op: Set, N: 1}, s.Kind == engine.Absent },
	Frees:  func(state) (In, bool) { return In{Op: CountDown}, true },
	Peer:   peer,
}

// ttl is longer than any test.
const ttl = 1000 * time.Hour

// ready reports whether a caller that waits for the end of a latch, or for its setting, can return.
func ready(s state, in In) bool {
	if in.Op == IsSet {
		return s.Kind == engine.Present
	}
	return s.V <= 0
}

// step is the model. Another program may leave a count of 0, or less.
func step(s state, at time.Time, in In, out Out) (state, bool) {
	there := s.Kind == engine.Present
	switch {
	case s.Kind == engine.Other:
		return s, false
	case in.Op == Count:
		return s, out.Left == s.V
	case in.Op == IsSet:
		return s, out.Done == there
	case in.Op == Set && !there && in.TTL > 0:
		return s.Is(in.N).Until(at.Add(in.TTL)), out.Done
	case in.Op == Set && !there:
		return s.Is(in.N), out.Done
	case in.Op == Set:
		return s, !out.Done
	case in.Op == Delete:
		return s.Gone(nil), out.Done == there
	case s.V <= 1:
		return s.Gone(nil), out.Left == 0
	}
	return s.Is(s.V - 1), out.Left == s.V-1
}

// published are the making of a latch and its end.
func published(before, after state, _ In) string {
	switch {
	case before.Kind == after.Kind:
		return ""
	case after.Kind == engine.Present:
		return "1"
	}
	return "0"
}

// channel has braces around the name, but for names with braces where channels are sharded.
func channel(can backend.Capabilities, key string) string {
	const prefix = "redisson_countdownlatch__channel__"
	if can.Sharded && strings.Contains(key, "{") {
		return prefix + key
	}
	return prefix + "{" + key + "}"
}

func stored(key string, s state) []engine.Key {
	if s.Kind != engine.Present {
		return []engine.Key{{Name: key}}
	}
	return []engine.Key{{Name: key, Text: strconv.FormatInt(s.V, 10)}}
}

// peer has another program change the count, with a message or without.
func peer(d engine.Params[int64]) (c engine.Change[int64], ok bool) {
	n := []int64{0, 1, 2, 0, 1, -3}[d.Which]
	if d.Which > 0 {
		c.Next = engine.New(n)
	}
	if d.Flag {
		c.Message = strconv.FormatInt(max(0, min(n, 1)), 10)
	}
	return c, true
}

// asks returns the request of a script.
func asks(s *engine.Script) []In {
	switch s.Name {
	case "latch_set":
		n, _ := strconv.ParseInt(s.Args[0], 10, 64)
		life, _ := strconv.ParseInt(s.Args[1], 10, 64)
		return []In{{Op: Set, N: n, TTL: time.Duration(life) * time.Millisecond}}
	case "latch_count_down":
		return []In{{Op: CountDown}}
	case "latch_count":
		return []In{{Op: Count}}
	case "latch_is_set":
		return []In{{Op: IsSet}}
	case "latch_delete":
		return []In{{Op: Delete}}
	}
	return nil
}

// answers returns the answer of a script.
func answers(s *engine.Script) ([]Out, error) {
	n, err := engine.Number(s)
	switch s.Name {
	case "latch_set", "latch_delete":
		return []Out{{Done: n == 1}}, err
	case "latch_is_set":
		return []Out{{Done: n == 1, Refused: n != 1}}, err
	}
	return []Out{{Left: n, Refused: n > 0}}, err
}

func draw(op Op) func(engine.Params[int64]) In {
	return func(engine.Params[int64]) In { return In{Op: op} }
}

func drawSet(ttl time.Duration) func(engine.Params[int64]) In {
	return func(d engine.Params[int64]) In { return In{Op: Set, N: int64(1 + d.Which%3), TTL: ttl} }
}

// call calls the method that in asks for, which does not wait.
func call(ctx context.Context, c *primitives.Client, name string, in In) (out Out, err error) {
	l := c.NewCountDownLatch(name)
	switch {
	case in.Op == Set && in.TTL > 0:
		out.Done, err = l.InitCountWithTTL(ctx, in.N, in.TTL)
	case in.Op == Set:
		out.Done, err = l.InitCount(ctx, in.N)
	case in.Op == CountDown:
		out.Left, err = l.CountDown(ctx)
	case in.Op == Count:
		out.Left, err = l.Count(ctx)
	default:
		out.Done, err = l.Delete(ctx)
	}
	return out, err
}

func wait(ctx context.Context, c *primitives.Client, name string, _ In) (Out, error) {
	return Out{}, c.NewCountDownLatch(name).Wait(ctx)
}

func waitUntilSet(ctx context.Context, c *primitives.Client, name string, _ In) (Out, error) {
	return Out{Done: true}, c.NewCountDownLatch(name).WaitUntilSet(ctx)
}
