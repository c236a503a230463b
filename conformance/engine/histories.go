package engine

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// Histories implements [Subject].
func (p *Primitive[S, I, O]) Histories(t *testing.T, h *harness.Harness, reached *Situations) {
	t.Helper()
	h = p.over(h)
	w := p.workload()
	draw := func(r *rapid.T) crowd {
		c := drawCrowd(r, []*workload{w}, []int{1, 2, 3}, []int{1})
		c.Sound, c.Picture = true, picture(t)
		return c
	}
	if h.Bubble == nil {
		realHistories(t, h, draw, reached)
	} else {
		virtualHistories(t, h, draw, reached)
	}
	reached.require(t, w.always)
	if w.waits && h.Capabilities.PubSub {
		reached.require(t, []string{"woken"})
	}
}

func virtualHistories(t *testing.T, h *harness.Harness, draw func(*rapid.T) crowd, reached *Situations) {
	t.Helper()
	rapid.Check(t, func(r *rapid.T) {
		c := draw(r)
		rapid.SyncTest(r, func(r *rapid.T) {
			defer outlast()
			if err := c.check(r.Context(), h.Bubble(), reached); err != nil {
				r.Fatal(stable(err))
			}
		})
	})
}

// realHistories runs each crowd by itself: what happens in real time does not happen again, so that
// there is no use in making it smaller.
func realHistories(t *testing.T, h *harness.Harness, draw func(*rapid.T) crowd, reached *Situations) {
	t.Helper()
	eachRound(t, h, func(seed int) error {
		if err := rapid.Custom(draw).Example(seed).check(t.Context(), h, reached); err != nil {
			return fmt.Errorf("crowd %d: %w", seed, err)
		}
		return nil
	})
}

// check runs the crowd on h, and returns what is wrong.
func (c crowd) check(ctx context.Context, h *harness.Harness, reached *Situations) error {
	e := harness.NewEnv(h)
	defer e.Close()
	return must.Catch(func() { c.start(ctx, e, reached).run(ctx) })
}
