package adder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// Properties opens, closes, adds, resets and asks at random, on three clients, of which two are over one
// backend. Sums may be under way meanwhile: each must be between its exact bounds, and exact when all is
// quiet. All that is in virtual time, over links that are slow.
func Properties(t *testing.T, h *harness.Harness) {
	t.Helper()
	if reason := counts(h); reason != "" {
		t.Skip(reason)
	}
	steps := rapid.SliceOfN(rapid.Custom(drawStep), 25, 40)
	rapid.Check(t, func(r *rapid.T) {
		latency := time.Duration(rapid.IntRange(0, 20).Draw(r, "latency")) * time.Millisecond
		drawn := steps.Draw(r, "steps")
		rapid.SyncTest(r, func(r *rapid.T) { playVirtually(r, h, latency, drawn) })
	})
}

// playVirtually is play in a bubble.
func playVirtually(r *rapid.T, h *harness.Harness, latency time.Duration, steps []step) {
	defer time.Sleep(time.Hour) // What is under way arrives.
	if err := play(context.Background(), h.Bubble(), latency, steps); err != nil {
		r.Fatal(err)
	}
}

// step is one thing that a machine does, to the adder of that place among those that are open.
type step struct {
	Op                  string
	Client, Name, Which int
	N                   int64
}

func drawStep(t *rapid.T) step {
	ops := []string{"open", "open", "add", "add", "add", "pause", "ask", "ask", "sum", "reset", "close"}
	return step{
		Op:     rapid.SampledFrom(ops).Draw(t, "op"),
		Client: rapid.IntRange(0, 2).Draw(t, "client"),
		Name:   rapid.IntRange(0, 1).Draw(t, "name"),
		Which:  rapid.IntRange(0, 5).Draw(t, "which"),
		N:      rapid.Int64Range(1, 1000).Draw(t, "n"),
	}
}

// play has a machine take the steps, and then be quiet.
func play(ctx context.Context, h *harness.Harness, latency time.Duration, steps []step) error {
	e := harness.NewEnv(h)
	defer e.Close()
	return must.Catch(func() {
		m := newMachine(ctx, e, latency)
		for i, s := range steps {
			must.In(fmt.Sprint("step ", i), func() { m.take(ctx, s) })
		}
		m.end(ctx)
	})
}

// take takes one step.
func (m *machine) take(ctx context.Context, s step) {
	if s.Op == "open" {
		m.open(ctx, s.Client, s.Name)
		return
	}
	t := m.pick(s)
	switch {
	case s.Op == "pause":
		time.Sleep(time.Duration(s.N) * 10 * time.Microsecond)
	case t == nil:
	case s.Op == "add":
		m.add(t, s.N)
	case s.Op == "ask":
		m.ask(ctx, t)
	case s.Op == "sum":
		must.Do(<-m.ask(ctx, t))
	case s.Op == "reset":
		m.reset(ctx, t)
	case s.Op == "close":
		m.close(t)
	}
}

// pick returns an adder of the step's name; nil: none is open.
func (m *machine) pick(s step) *tally {
	all := m.named(s.Name)
	if len(all) == 0 {
		return nil
	}
	return all[s.Which%len(all)]
}

// end awaits what is under way. Then each sum is exact.
func (m *machine) end(ctx context.Context) {
	for _, b := range m.asked {
		must.Do(<-b.done)
	}
	for _, t := range m.tallies {
		want := int64(0)
		for _, other := range m.named(t.name) {
			want += other.count
		}
		must.Return("Sum, when all is quiet,", want)(t.adder.Sum(ctx))
	}
}

// bounds are those of a sum that is under way.
type bounds struct {
	name      int
	low, high map[*tally]int64
	disturbed bool // a client that was asked has been closed, and may not have answered
	giveUp    context.CancelFunc
	done      chan error
}

// disturb says that t is closed. A caller that waits for its answer waits a little longer.
func (b *bounds) disturb(t *tally) {
	b.low[t], b.disturbed = 0, true
	time.AfterFunc(time.Second, b.giveUp)
}

// verdict returns what is wrong with a sum. One that was disturbed may have no answer.
func (b *bounds) verdict(sum int64, err error) error {
	if b.disturbed && err != nil {
		return nil
	}
	var least, most int64
	for _, n := range b.low {
		least += n
	}
	for _, n := range b.high {
		most += n
	}
	if err == nil && (sum < least || sum > most) {
		err = errors.New("it is out of its bounds")
	}
	if err != nil {
		return fmt.Errorf("a sum of %d, of %d to %d: %w", sum, least, most, err)
	}
	return nil
}

// named returns the open adders of a name.
func (m *machine) named(name int) []*tally {
	return slices.DeleteFunc(slices.Clone(m.tallies), func(t *tally) bool { return t.name != name })
}
