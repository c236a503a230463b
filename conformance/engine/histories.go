package engine

import (
	"cmp"
	"testing"

	"pgregory.net/rapid"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// Histories implements [Subject].
func (p *Primitive[S, I, O]) Histories(t *testing.T, h *harness.Harness, reached *Coverage) {
	t.Helper()
	h = p.over(h)
	w := p.workload()
	draw := func(r *rapid.T) crowd {
		c := drawCrowd(r, []*workload{w}, []int{1, 2, 3}, []int{1})
		c.Picture = picture(t)
		return c
	}
	if h.Bubble == nil {
		realHistories(t, &runner{h: h, reached: reached}, draw)
	} else {
		virtualHistories(t, h, draw, reached)
	}
	reached.require(t, w.always)
	if w.waits && h.Capabilities.PubSub {
		reached.require(t, []string{"woken"})
	}
}

func virtualHistories(t *testing.T, h *harness.Harness, draw func(*rapid.T) crowd, reached *Coverage) {
	t.Helper()
	rapid.Check(t, func(r *rapid.T) {
		c := draw(r)
		rapid.SyncTest(r, func(r *rapid.T) {
			defer outlast()
			one := &runner{h: h.Bubble(), reached: reached}
			if err := one.run(r.Context(), c); err != nil {
				r.Fatal(stable(err))
			}
		})
	})
}

// realHistories runs crowds side by side, since they mostly wait. What happens in real time does not happen again, so
// there is no use in making a crowd smaller: a failure prints all that was drawn.
func realHistories(t *testing.T, one *runner, draw func(*rapid.T) crowd) {
	t.Helper()
	first := drawnFrom()
	must.Together(cmp.Or(one.h.Rounds, 5), func(i int) {
		if err := one.run(t.Context(), rapid.Custom(draw).Example(first+i)); err != nil {
			t.Errorf("crowd %d: %v", first+i, err)
		}
	})
}
