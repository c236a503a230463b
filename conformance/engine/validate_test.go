package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/primitives"
)

type (
	state       = engine.State[int]
	declaration = engine.Primitive[int, string, bool]
	operation   = engine.Op[int, string, bool]
)

func call(context.Context, *primitives.Client, string, string) (bool, error) { return true, nil }

func acquire(context.Context, *primitives.Client, string, string) (*primitives.Lease, error) {
	return nil, nil
}

func drawn(in string) func(engine.Params[int]) string {
	return func(engine.Params[int]) string { return in }
}

// door can be opened, and waited for.
func door() *declaration {
	return &declaration{
		Name: "Door", Limit: "Door.Open", Promises: map[string]string{"Door.Open": "It opens."},
		Some:    engine.New(1),
		Step:    func(s state, _ time.Time, _ string, _ bool) (state, bool) { return s, true },
		Verb:    func(in string) string { return in },
		Asks:    func(*engine.Script) []string { return nil },
		Answers: func(*engine.Script) ([]bool, error) { return nil, nil },
		Stored: func(key string, s state) []engine.Key {
			if s.Kind == engine.Absent {
				return []engine.Key{{Name: key}}
			}
			return []engine.Key{{Name: key, Text: "1"}}
		},
		Channel:   func(_ backend.Capabilities, key string) string { return key },
		Published: func(_, _ state, _ string) string { return "" },
		Ops: []operation{
			{Name: "Open", Weight: 1, Generate: drawn("open"), Call: call},
			{Name: "Wait", Weight: 1, Generate: drawn("wait"), Call: call, Waits: true},
		},
		Granted: func(out bool) bool { return out },
		Ready:   func(state, string) bool { return true },
		Blocks:  func(state) (string, bool) { return "", false },
		Frees:   func(state) (string, bool) { return "open", true },
		Peer:    func(engine.Params[int]) (c engine.Change[int], ok bool) { return c, false },
	}
}

// lease is a door that one holds for a time.
func lease() *declaration {
	p := door()
	p.Ops[1].Call, p.Ops[1].Acquire = nil, acquire
	p.Blocks = func(state) (string, bool) { return "wait", true }
	p.Hold = &engine.Hold[int, string, bool]{
		Of:      func(string) (engine.HoldAct, string, time.Duration) { return engine.NoHold, "", 0 },
		Fixed:   func(string) time.Duration { return 0 },
		Holders: func(state) []string { return nil },
		Grant:   func(bool) (string, int64, bool) { return "", 0, false },
		Granted: func(string, int64) bool { return true },
		Release: func(string) string { return "release" },
		Done:    func(bool) bool { return true },
	}
	return p
}

// counter is a door that is taken, and opened by what is put back.
func counter() *declaration {
	p := door()
	p.Takes = &engine.Takes[int, string, bool]{
		Count: func(state) int64 { return 0 },
		Took:  func(string, bool) int64 { return 0 },
		Puts:  func(string) (int64, bool, bool) { return 0, false, false },
		Back:  func(int64, bool) string { return "open" },
	}
	return p
}

// member is a door that one holds for as long as one waits.
func member() *declaration {
	p := lease()
	p.Ops, p.Blocks, p.Hold.Granted = door().Ops, door().Blocks, nil
	p.Hold.Awaits = func(bool) string { return "wait" }
	return p
}

// line is a door that one holds, and waits for in a queue.
func line() *declaration {
	p := lease()
	p.Stored = func(key string, s state) []engine.Key {
		return append(door().Stored(key, s), engine.Key{Name: "queue", List: []string{}})
	}
	p.Queue = &engine.Queue[int, string]{
		Key:     func(string) string { return "queue" },
		Waiting: func(state) []string { return nil },
		Place:   func(string) time.Duration { return 0 },
		Message: "0",
	}
	return p
}

// stores declares that some are the keys of each object, or none if there is no object.
func stores(some, none []engine.Key) func(p *declaration) {
	return func(p *declaration) {
		p.Stored = func(_ string, s state) []engine.Key {
			if s.Kind == engine.Absent {
				return none
			}
			return some
		}
	}
}

// soon is when a key ends by itself.
var soon = time.Unix(1, 0)

func notApart(_, _, inner string) (awaits string, apart bool, refused error) {
	return inner, false, nil
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, declare := range []func() *declaration{door, lease, counter, member, line} {
		require.NoError(t, declare().Validate())
	}
	sides := lease()
	stores([]engine.Key{{Name: "key", Text: "1"}, {Name: "side", Text: "1", Ends: soon}}, []engine.Key{{Name: "key"}})(sides)
	sides.Hold.Apart = notApart
	require.NoError(t, sides.Validate())
	simple := door()
	simple.Ops, simple.Ready, simple.Blocks, simple.Frees = simple.Ops[:1], nil, nil, nil
	require.NoError(t, simple.Validate())
}

// TestValidateRefuses breaks a right declaration in one way each.
func TestValidateRefuses(t *testing.T) {
	t.Parallel()
	empty, two := []engine.Key{{Name: "key"}}, []engine.Key{{Name: "key", Text: "1"}, {Name: "another", Text: "1"}}
	list := []engine.Key{{Name: "key", List: []string{"1"}}}
	both := []engine.Key{{Name: "key", Text: "1", Fields: map[string]string{"field": "1"}}}
	for _, c := range []struct {
		of    func() *declaration
		wrong func(p *declaration)
		want  string
	}{
		{door, func(p *declaration) { p.Name = "" }, "Name is not set"},
		{door, func(p *declaration) { p.Limit = "" }, "Limit is not set"},
		{door, func(p *declaration) { p.Step = nil }, "Step is not set"},
		{door, func(p *declaration) { p.Verb = nil }, "Verb is not set"},
		{door, func(p *declaration) { p.Asks = nil }, "Asks is not set"},
		{door, func(p *declaration) { p.Answers = nil }, "Answers is not set"},
		{door, func(p *declaration) { p.Stored = nil }, "Stored is not set"},
		{door, func(p *declaration) { p.Ops = nil }, "Ops is not set"},
		{door, func(p *declaration) { p.Promises = nil }, `Promises has no "Door.Open"`},
		{door, func(p *declaration) { p.Some = state{} }, "Some does not exist"},
		{door, func(p *declaration) { p.Published = nil }, "Channel and Published"},
		{door, func(p *declaration) { p.Channel = nil }, "Channel and Published"},
		{door, func(p *declaration) { p.Channel, p.Published = nil, nil }, "Ready needs Channel or Retry"},
		{door, func(p *declaration) { p.Unseen = func(int) []int { return nil } }, "Unseen needs Doubt"},
		{lease, func(p *declaration) { p.Doubt = func(int, string, bool) int { return 0 } }, "Doubt is not for"},
		{door, stores(nil, nil), "own key first"},
		{door, stores(two, empty), "as many keys"},
		{door, stores(two[1:], empty), "own key first"},
		{door, stores(empty, empty), "a value for Some"},
		{door, stores(two[:1], two[:1]), "a value for Some"},
		{door, stores(both, empty), "not several"},
		{door, stores(list, empty), "Text, Fields or Set for the object's own key"},
		{line, func(p *declaration) { p.Queue.Key = func(key string) string { return key } }, "Queue.Key is no List or Set"},
		{line, func(p *declaration) { p.Queue.Waiting = nil }, "Queue.Waiting is not set"},
		{line, func(p *declaration) { p.Queue.Message = "" }, "Queue.Message is not set"},
		{line, func(p *declaration) { p.Channel, p.Published, p.Retry = nil, nil, time.Second }, "Queue needs Hold"},
		{door, func(p *declaration) { p.Queue = line().Queue }, "Queue needs Hold"},
		{door, stores([]engine.Key{{Name: "key", Text: "1", Ends: soon}}, empty), "the object's own key has Ends"},
		{
			door, stores([]engine.Key{two[0], {Name: "another", Text: "1", Life: time.Hour, Ends: soon}}, empty),
			"key another has Life and Ends",
		},
		{counter, func(p *declaration) { p.Hold = lease().Hold }, "Hold and Takes exclude each other"},
		{lease, func(p *declaration) { p.Ready = nil }, "Hold needs Ready"},
		{lease, func(p *declaration) { p.Hold.Done = nil }, "Hold.Done is not set"},
		{lease, func(p *declaration) { p.Hold.Granted = nil }, "Hold.Granted is not set"},
		{member, func(p *declaration) { p.Hold.Apart = notApart }, "Hold.Apart is for"},
		{counter, func(p *declaration) { p.Takes.Back = nil }, "Takes.Back is not set"},
		{
			counter, func(p *declaration) { p.Takes.Back = func(int64, bool) string { return "put" } },
			"Takes.Back: no operation asks for put",
		},
		{door, func(p *declaration) { p.Ops[0].Name = "" }, "Ops: : Name is not set"},
		{door, func(p *declaration) { p.Ops[0].Generate = nil }, "Ops: Open: Generate is not set"},
		{door, func(p *declaration) { p.Ops[1].Name = "Open" }, "Ops: Open: the Name is taken"},
		{door, func(p *declaration) { p.Ops[0].Name = "Close" }, "Ops: Close: the Name is taken"},
		{door, func(p *declaration) { p.Ops[0].Weight = -1 }, "Ops: Open: Weight is negative"},
		{door, func(p *declaration) { p.Ops[0].Call = nil }, "Ops: Open: needs Call or Acquire"},
		{lease, func(p *declaration) { p.Ops[0].Acquire = acquire }, "Ops: Open: needs Call or Acquire"},
		{door, func(p *declaration) { p.Ops[1] = lease().Ops[1] }, "Acquire needs Hold"},
		{member, func(p *declaration) { p.Ops[1] = lease().Ops[1] }, "Acquire needs Hold"},
		{lease, func(p *declaration) {
			p.Ops[1].Back = func(string, bool) (string, bool) { return "", false }
		}, "Back is for"},
		{door, func(p *declaration) { p.Ops[1].Tries = true }, "Waits and Tries exclude each other"},
		{door, func(p *declaration) { p.Ready = nil }, "Ops: Wait: Waits needs Ready"},
		{door, func(p *declaration) { p.Ops[0].Tries, p.Granted = true, nil }, "Tries needs Granted"},
		{door, func(p *declaration) { p.Ops, p.Ready = p.Ops[:1], nil }, "Blocks, Frees and Retry need Ready"},
		{door, func(p *declaration) { p.Ops = p.Ops[:1] }, "Ready needs an operation that Waits"},
		{door, func(p *declaration) { p.Blocks = nil }, "Blocks is not set"},
		{door, func(p *declaration) { p.Frees = nil }, "Frees is not set"},
		{door, func(p *declaration) { p.Granted = nil }, "Granted is not set"},
		{door, func(p *declaration) { p.Peer = nil }, "Peer is not set"},
		{lease, func(p *declaration) { p.Ops[1].Acquire, p.Ops[1].Call = nil, call }, "the first that Waits needs Acquire"},
		{lease, func(p *declaration) { p.Blocks = door().Blocks }, "Blocks needs an operation with Acquire"},
		{
			door, func(p *declaration) { p.Blocks = func(state) (string, bool) { return "shut", true } },
			"Blocks: no operation asks for shut",
		},
		{
			door, func(p *declaration) { p.Frees = func(state) (string, bool) { return "shut", true } },
			"Frees: no operation asks for shut",
		},
		{door, func(p *declaration) { p.Ops[0].Weight, p.Ops[1].ExcludeFromHistory = 0, true }, "histories need an operation"},
	} {
		p := c.of()
		c.wrong(p)
		require.ErrorContains(t, p.Validate(), c.want)
	}
}
