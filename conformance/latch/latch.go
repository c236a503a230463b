// Package latch declares primitives.CountDownLatch and PartsLatch for the suite: their promises, one model,
// as both may be called for a name, and their operations. It is the smallest declaration of something that waits.
package latch

import (
	"context"
	"errors"
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
	"Latch.Parts": `A PartsLatch counts each part once, by its id, also after it was opened. Its Wait returns nil only if
the latch was opened. If it was never set, or is gone, Wait, Left and CountDown return ErrNoLatch.`,
	"Latch.Wire": `The key is Redisson's decimal count. Its messages are 1 for a new count and 0 at the end, on its channel,
with braces around the name; names with braces get none where channels are sharded. The parts have a key of their own.`,
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
	SetParts  Op = "set parts"
	Part      Op = "count a part"
	Open      Op = "open" // a Wait of a PartsLatch that returned has seen it open, or none
)

// In is one thing that happens to a latch.
type In struct {
	Op  Op
	N   int64         // of Set and SetParts
	TTL time.Duration // of Set and SetParts; 0: there is none
	ID  string        // of Part
}

// Out is the answer.
type Out struct {
	Done    bool  // of Set, SetParts, IsSet and Delete
	Left    int64 // of CountDown, Count, Part and Open
	None    bool  // of Part and Open: there is no such latch
	Refused bool  // of Count, IsSet and Open: its waiter goes on waiting; a caller does not get it
}

// Latch is a latch at one time.
type Latch struct {
	Count       int64
	Parts, Open bool      // there is a key of the parts, and it says that the latch was opened
	IDs         string    // of the counted parts, a letter each
	Ends        time.Time // of the key of the parts
}

// state is the state of one latch.
type state = engine.State[Latch]

// Primitive declares the latch.
var Primitive engine.Subject = &engine.Primitive[Latch, In, Out]{
	Name: "Latch", Promises: Promises, Limit: "Latch.Waiting",
	Some: engine.New(Latch{Count: 2}), NoTexts: []string{"1.5", "abc"},
	Step: step, Keep: func(v Latch) Latch { v.Count = 0; return v }, Verb: func(in In) string { return string(in.Op) },
	Asks: asks, Answers: answers, Granted: func(out Out) bool { return !out.Refused },
	CallerView: func(out Out) Out { out.Refused = false; return out },
	Stored:     stored, Channel: channel, Published: published,
	Ops: []engine.Op[Latch, In, Out]{
		{Name: "InitCount", Weight: 3, Generate: drawSet(Set, 0), Call: call, WriteOnly: true, Refuses: []In{{Op: Set}, {Op: Set, N: -1}}},
		{Name: "InitCountWithTTL", Weight: 1, Generate: drawSet(Set, ttl), Call: call, WriteOnly: true, Refuses: []In{{Op: Set, TTL: ttl}, {Op: Set, N: 1, TTL: time.Microsecond}}},
		{Name: "CountDown", Weight: 3, Generate: draw(CountDown), Call: call},
		{Name: "Count", Weight: 1, Generate: draw(Count), Call: call},
		{Name: "Wait", Weight: 3, Generate: draw(Count), Call: func(ctx context.Context, c *primitives.Client, name string, _ In) (Out, error) {
			return Out{}, c.NewCountDownLatch(name).Wait(ctx)
		}, Waits: true, AckOnly: true},
		{Name: "WaitUntilSet", Weight: 2, Generate: draw(IsSet), Call: call, Waits: true},
		{Name: "PartsInit", Weight: 2, Generate: drawSet(SetParts, ttl), Call: call, WriteOnly: true, Refuses: []In{{Op: SetParts, TTL: ttl}, {Op: SetParts, N: 1}}},
		{Name: "PartsCountDown", Weight: 4, Generate: draw(Part), Call: call, Refuses: []In{{Op: Part}}},
		{Name: "PartsWait", Weight: 2, Generate: draw(Open), Call: call, Waits: true},
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
	there := s.Kind == engine.Present
	return in.Op == IsSet && there || in.Op == Open && !counting(s) || in.Op == Count && s.V.Count <= 0
}

// counting reports whether parts can be counted.
func counting(s state) bool {
	return s.Kind == engine.Present && s.V.Parts && !s.V.Open && s.V.Count > 0
}

// step is the model. Another program may leave a count of 0, or less.
func step(s state, at time.Time, in In, out Out) (state, bool) {
	there, v := s.Kind == engine.Present, s.V
	switch {
	case s.Kind == engine.Other:
		return s, false
	case in.Op == Count:
		return s, out.Left == v.Count
	case in.Op == IsSet:
		return s, out.Done == there
	case in.Op == Set && there, in.Op == SetParts && (there || v.Open):
		return s, !out.Done
	case in.Op == SetParts:
		return s.Is(Latch{Count: in.N, Parts: true, Ends: at.Add(ttl)}).Until(at.Add(ttl)), out.Done
	case in.Op == Set && in.TTL > 0:
		s = s.Until(at.Add(in.TTL))
		fallthrough
	case in.Op == Set:
		v.Count = in.N
		return s.Is(v), out.Done
	case in.Op == Delete:
		return s.Gone(nil), out.Done == (there || v.Parts)
	case in.Op == Part || in.Op == Open:
		if in.Op == Part && counting(s) && !strings.Contains(v.IDs, in.ID) {
			v.IDs, v.Count = v.IDs+in.ID, v.Count-1
			if s = s.Is(v); v.Count == 0 {
				s = state{V: Latch{Parts: true, Open: true, IDs: v.IDs, Ends: at.Add(ttl)}}
			}
		}
		want := Out{None: !counting(s) && !s.V.Open, Refused: out.Refused}
		if counting(s) {
			want.Left = s.V.Count
		}
		return s, out == want
	case v.Count <= 1:
		v.Count = 0
		return state{V: v}, out.Left == 0
	}
	v.Count--
	return s.Is(v), out.Left == v.Count
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
	own, parts := engine.Key{Name: key}, engine.Key{Name: engine.SideName("hasp_latch_parts:", key)}
	if s.Kind == engine.Present {
		own.Text = strconv.FormatInt(s.V.Count, 10)
	}
	if s.V.Parts {
		parts.Ends, parts.Fields = s.V.Ends, map[string]string{"": strconv.FormatInt(ttl.Milliseconds(), 10)}
		for _, id := range s.V.IDs {
			parts.Fields[string(id)] = "1"
		}
	}
	if s.V.Open {
		parts.Fields[""] = "0"
	}
	return []engine.Key{own, parts}
}

// peer has another program change the count, with a message or without; or the server loses all.
func peer(d engine.Params[Latch]) (c engine.Change[Latch], ok bool) {
	n := []int64{0, 1, 2, 0, 1, -3}[d.Which]
	if d.Which > 0 {
		d.Now.V.Count = n
		c.Next = engine.New(d.Now.V)
	}
	if d.Flag {
		c.Message = strconv.FormatInt(max(0, min(n, 1)), 10)
	}
	return c, true
}

// asks returns the request of a script.
func asks(s *engine.Script) []In {
	in := In{Op: map[string]Op{
		"latch_set": Set, "latch_count_down": CountDown, "latch_count": Count, "latch_is_set": IsSet, "latch_delete": Delete,
		"latch_parts_set": SetParts, "latch_parts_count_down": Part, "latch_parts_left": Open,
	}[s.Name]}
	switch in.Op {
	case "":
		return nil
	case Set, SetParts:
		in.N, _ = strconv.ParseInt(s.Args[0], 10, 64)
		life, _ := strconv.ParseInt(s.Args[1], 10, 64)
		in.TTL = time.Duration(life) * time.Millisecond
	case Part:
		in.ID = s.Args[0]
	}
	return []In{in}
}

// answers returns the answer of a script.
func answers(s *engine.Script) ([]Out, error) {
	n, err := engine.Number(s)
	switch s.Name {
	case "latch_set", "latch_delete", "latch_parts_set":
		return []Out{{Done: n == 1}}, err
	case "latch_is_set":
		return []Out{{Done: n == 1, Refused: n != 1}}, err
	case "latch_parts_left", "latch_parts_count_down":
		return []Out{{Left: n, None: s.Reply.IsNil(), Refused: n > 0}}, err
	}
	return []Out{{Left: n, Refused: n > 0}}, err
}

func draw(op Op) func(engine.Params[Latch]) In {
	return func(d engine.Params[Latch]) In { return In{Op: op, ID: map[Op]string{Part: "abc"[d.Which%3:][:1]}[op]} }
}

func drawSet(op Op, ttl time.Duration) func(engine.Params[Latch]) In {
	return func(d engine.Params[Latch]) In { return In{Op: op, N: int64(1 + d.Which%3), TTL: ttl} }
}

// call calls the method that in asks for.
func call(ctx context.Context, c *primitives.Client, name string, in In) (out Out, err error) {
	l, parts := c.NewCountDownLatch(name), c.NewPartsLatch(name)
	switch {
	case in.Op == SetParts:
		out.Done, err = parts.Init(ctx, in.N, in.TTL)
	case in.Op == Set && in.TTL > 0:
		out.Done, err = l.InitCountWithTTL(ctx, in.N, in.TTL)
	case in.Op == Set:
		out.Done, err = l.InitCount(ctx, in.N)
	case in.Op == CountDown:
		out.Left, err = l.CountDown(ctx)
	case in.Op == Count:
		out.Left, err = l.Count(ctx)
	case in.Op == Part:
		out.Left, err = parts.CountDown(ctx, in.ID)
	case in.Op == Open:
		err = parts.Wait(ctx)
	case in.Op == IsSet:
		out.Done, err = true, l.WaitUntilSet(ctx)
	default:
		out.Done, err = l.Delete(ctx)
	}
	if errors.Is(err, primitives.ErrNoLatch) {
		return Out{None: true}, nil
	}
	return out, err
}
