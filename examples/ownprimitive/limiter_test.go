package barrier_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/examples/ownprimitive/limiter"
	"github.com/hasp-go/hasp/primitives"
)

// taken is what a limiter is: the permits that are taken of its window. The window is the life of the key.
type taken struct{ N int }

// limiting is what happens to a limiter. A window belongs to the permits which begin it.
type limiting struct {
	What   string // takes or resets
	N      int
	Window time.Duration
}

const (
	takes  = "takes"
	resets = "resets"
)

// limited is the answer. Wait is known of scripts alone.
type limited struct {
	Granted bool
	Left    int
	Wait    time.Duration
}

const (
	permits = 3               // of a window
	endless = 500 * time.Hour // longer than any test
)

// declaredLimiter declares the limiter.
var declaredLimiter = &engine.Primitive[taken, limiting, limited]{
	Name:       "Limiter",
	Limit:      "Limiter.Window",
	Promises:   map[string]string{"Limiter.Window": "No more permits of a window are taken than it has, and none is lost."},
	Some:       engine.New(taken{1}),
	NoTexts:    []string{"text"},
	Step:       stepLimiter,
	Verb:       func(in limiting) string { return in.What },
	Asks:       asksLimiter,
	Answers:    answersLimiter,
	CallerView: func(out limited) limited { return limited{Granted: out.Granted} },
	Granted:    func(out limited) bool { return out.Granted },
	Stored: func(key string, s engine.State[taken]) []engine.Key {
		own := engine.Key{Name: key}
		if s.Kind == engine.Present {
			own.Fields = map[string]string{"taken": strconv.Itoa(s.V.N)}
		}
		return []engine.Key{own}
	},
	Retry: limiter.MaxPause,
	Ops: []engine.Op[taken, limiting, limited]{
		{Name: "Take", Weight: 4, Generate: drawTake, Call: take, Waits: true, Refuses: []limiting{{What: takes, Window: endless}, {What: takes, N: permits + 1, Window: endless}}},
		{Name: "TryTake", Weight: 4, Generate: drawTake, Call: tryTake, Tries: true},
		{Name: "Reset", Weight: 1, Generate: func(engine.Params[taken]) limiting { return limiting{What: resets} }, Call: reset},
	},
	Ready: func(s engine.State[taken], in limiting) bool { return s.V.N+in.N <= permits },
	Blocks: func(s engine.State[taken]) (limiting, bool) {
		return limiting{What: takes, N: permits - s.V.N, Window: endless}, s.V.N < permits
	},
	Frees: func(engine.State[taken]) (limiting, bool) { return limiting{What: resets}, true },
	Peer: func(d engine.Params[taken]) (c engine.Change[taken], ok bool) {
		c.Next = engine.New(taken{1 + d.Which%permits})
		c.Life = d.For.Truncate(time.Millisecond) + time.Millisecond
		return c, true
	},
}

// stepLimiter is the model. Time alone frees permits: the key ends, and the suite sees that from the end of the state.
// In a history the time is zero. Then windows are endless, so the state follows from the state before and the input,
// and each Wait is possible.
func stepLimiter(s engine.State[taken], at time.Time, in limiting, out limited) (engine.State[taken], bool) {
	if in.What == resets {
		return s.Gone(nil), out.Granted
	}
	granted, next := s.V.N+in.N <= permits, s
	if granted {
		next = s.Is(taken{s.V.N + in.N})
	}
	if granted && s.Kind == engine.Absent {
		next = next.Until(at.Add(in.Window))
	}
	exact := out.Left == permits-next.V.N && next.Remains(at, out.Wait)
	return next, out.Granted == granted && (exact || at.IsZero())
}

// drawTake draws a window that ends in the test if the time is known.
func drawTake(d engine.Params[taken]) limiting {
	in := limiting{What: takes, N: 1 + d.Which%permits, Window: endless}
	if !d.At.IsZero() && d.Flag {
		in.Window = 300 * time.Millisecond
	}
	return in
}

func of(c *primitives.Client, name string, in limiting) *limiter.Limiter {
	return limiter.New(c, name, permits, in.Window)
}

func take(ctx context.Context, c *primitives.Client, name string, in limiting) (limited, error) {
	err := of(c, name, in).Take(ctx, in.N)
	return limited{Granted: err == nil}, err
}

func tryTake(ctx context.Context, c *primitives.Client, name string, in limiting) (limited, error) {
	err := of(c, name, in).TryTake(ctx, in.N)
	return limited{Granted: err == nil}, err
}

func reset(ctx context.Context, c *primitives.Client, name string, _ limiting) (limited, error) {
	err := limiter.New(c, name, permits, endless).Reset(ctx)
	return limited{Granted: err == nil}, err
}

func asksLimiter(s *engine.Script) []limiting {
	switch s.Name {
	case "take":
		n, _ := strconv.Atoi(s.Args[0])
		return []limiting{{What: takes, N: n, Window: millis(s.Args[2])}}
	case "reset":
		return []limiting{{What: resets}}
	}
	return nil
}

func answersLimiter(s *engine.Script) ([]limited, error) {
	if s.Name == "reset" || s.Err != nil {
		return []limited{{Granted: true}}, s.Err
	}
	items, err := s.Reply.Items()
	if err != nil {
		return nil, err
	}
	var n [3]int64
	for i, item := range items { // A false one is nil, so zero.
		n[i], _ = item.Int()
	}
	return []limited{{Granted: n[0] == 1, Left: int(n[1]), Wait: time.Duration(n[2]) * time.Millisecond}}, nil
}

// TestLimiter judges the limiter by all that follows from its declaration, in virtual time.
func TestLimiter(t *testing.T) {
	t.Parallel()
	conformance.RunPrimitive(t, onEmbedded(), declaredLimiter)
}
