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
	Refused bool  // of Count and IsSet: who waits for it does not go on; callers are not told
}

// state is that of one latch: the count.
type state = engine.State[int64]

// Primitive declares the latch.
var Primitive engine.Subject = &engine.Primitive[int64, In, Out]{
	Name:      "Latch",
	Promises:  Promises,
	Some:      engine.New[int64](2),
	NoTexts:   []string{"1.5", "abc"},
	Step:      step,
	Verb:      func(in In) string { return string(in.Op) },
	Asks:      asks,
	Answers:   answers,
	Told:      func(out Out) Out { out.Refused = false; return out },
	Granted:   func(out Out) bool { return !out.Refused },
	Stored:    stored,
	Channel:   channel,
	Published: published,
	Ops: []engine.Op[int64, In, Out]{
		{Name: "TrySetCount", Often: 3, Draw: drawSet, Call: set, Blind: true, Refuses: []In{{Op: Set}, {Op: Set, N: -1}}},
		{Name: "TrySetCountWithTTL", Often: 1, Draw: drawSetWithTTL, Call: set, Blind: true, Refuses: []In{{Op: Set, TTL: ttl}, {Op: Set, N: 1, TTL: time.Microsecond}}},
		{Name: "CountDown", Often: 3, Draw: draw(CountDown), Call: countDown},
		{Name: "Count", Often: 1, Draw: draw(Count), Call: count},
		{Name: "Wait", Often: 3, Draw: draw(Count), Call: wait, Waits: true, Quiet: true},
		{Name: "WaitUntilSet", Often: 2, Draw: draw(IsSet), Call: waitUntilSet, Waits: true},
		{Name: "Delete", Often: 1, Draw: draw(Delete), Call: remove, Blind: true},
	},
	Lived:  func(c *primitives.Client, name string) engine.Lived { return c.NewCountDownLatch(name) },
	Ready:  ready,
	Blocks: func(s state) (In, bool) { return In{Op: Set, N: 1}, s.Kind == engine.Absent },
	Frees:  func(state) (In, bool) { return In{Op: CountDown}, true },
	Peer:   peer,
	Limit:  "Latch.Waiting",

	Special: cases(),
}

// ttl is longer than any test.
const ttl = 1000 * time.Hour

// ready reports whether a latch lets go on who waits for its end, or for its begin.
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

// peer makes the count another, with a message or without.
func peer(d engine.Dice[int64]) (c engine.Change[int64], ok bool) {
	n := []int64{0, 1, 2, 0, 1, -3}[d.Which]
	if d.Which > 0 {
		c.Next = engine.New(n)
	}
	if d.Flag {
		c.Message = strconv.FormatInt(max(0, min(n, 1)), 10)
	}
	return c, true
}

// asks returns what a script asks.
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

// answers returns what a script answers.
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

func draw(op Op) func(engine.Dice[int64]) In {
	return func(engine.Dice[int64]) In { return In{Op: op} }
}

func drawSet(d engine.Dice[int64]) In { return In{Op: Set, N: int64(1 + d.Which%3)} }

func drawSetWithTTL(d engine.Dice[int64]) In {
	return In{Op: Set, N: int64(1 + d.Which%3), TTL: ttl}
}

func set(ctx context.Context, c *primitives.Client, name string, in In) (out Out, err error) {
	l := c.NewCountDownLatch(name)
	if in.TTL > 0 {
		out.Done, err = l.TrySetCountWithTTL(ctx, in.N, in.TTL)
	} else {
		out.Done, err = l.TrySetCount(ctx, in.N)
	}
	return out, err
}

func countDown(ctx context.Context, c *primitives.Client, name string, _ In) (out Out, err error) {
	out.Left, err = c.NewCountDownLatch(name).CountDown(ctx)
	return out, err
}

func count(ctx context.Context, c *primitives.Client, name string, _ In) (out Out, err error) {
	out.Left, err = c.NewCountDownLatch(name).Count(ctx)
	return out, err
}

func wait(ctx context.Context, c *primitives.Client, name string, _ In) (Out, error) {
	return Out{}, c.NewCountDownLatch(name).Wait(ctx)
}

func waitUntilSet(ctx context.Context, c *primitives.Client, name string, _ In) (Out, error) {
	return Out{Done: true}, c.NewCountDownLatch(name).WaitUntilSet(ctx)
}

func remove(ctx context.Context, c *primitives.Client, name string, _ In) (out Out, err error) {
	out.Done, err = c.NewCountDownLatch(name).Delete(ctx)
	return out, err
}
