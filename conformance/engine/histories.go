package engine

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// Histories implements [Subject].
func (p *Primitive[S, I, O]) Histories(t *testing.T, h *harness.Harness, reached *Situations) {
	t.Helper()
	w := p.workload()
	if h.Bubble == nil {
		w.realHistories(t, h, reached)
	} else {
		w.virtualHistories(t, h, reached)
	}
	reached.require(t, w.always)
	if w.waits && h.Capabilities.PubSub {
		reached.require(t, []string{"woken"})
	}
}

func (w *workload) virtualHistories(t *testing.T, h *harness.Harness, reached *Situations) {
	t.Helper()
	rapid.Check(t, func(r *rapid.T) {
		s := drawSchedule(r, w)
		rapid.SyncTest(r, func(r *rapid.T) {
			e := harness.NewEnv(h.Bubble())
			defer outlast()
			defer e.Close()
			err := must.Catch(func() { s.run(r.Context(), e, w, picture(t), reached) })
			if err != nil {
				r.Fatalf("%s\n%v", stable(err), s)
			}
		})
	})
}

// realHistories runs each schedule by itself: what happens in real time does not happen again, so
// that there is no use in making it smaller.
func (w *workload) realHistories(t *testing.T, h *harness.Harness, reached *Situations) {
	t.Helper()
	draw := rapid.Custom(func(r *rapid.T) schedule { return drawSchedule(r, w) })
	eachRound(t, h, func(seed int) error {
		s := draw.Example(seed)
		e := harness.NewEnv(h)
		defer e.Close()
		err := must.Catch(func() { s.run(t.Context(), e, w, picture(t), reached) })
		if err != nil {
			return fmt.Errorf("schedule %d: %w\n%v", seed, err, s)
		}
		return nil
	})
}
