package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/history"
	"github.com/hasp-go/hasp/conformance/must"
)

// runner runs crowds on a harness, one after the other or side by side, and makes faults among them: that is what
// histories, fault cases and soaks consist of.
type runner struct {
	h       *harness.Harness
	reached *Coverage
	soaks   bool // undecided histories are counted; else each is a failure

	// gate is held by a crowd while it starts, and by a fault while it lasts: a driver's
	// constructor may well fail under a fault.
	gate    sync.RWMutex
	lasting atomic.Bool // a fault lasts

	mu     sync.Mutex
	crowds []*running
}

// run runs a crowd, and returns what is wrong.
func (r *runner) run(ctx context.Context, c crowd) error {
	e := harness.NewEnv(r.h)
	defer e.Close()
	return must.Catch(func() {
		one := r.enter(ctx, c, e)
		defer r.leave(one)
		one.run(ctx)
	})
}

func (r *runner) enter(ctx context.Context, c crowd, e *harness.Env) *running {
	r.gate.RLock()
	defer r.gate.RUnlock()
	one := r.start(ctx, c, e)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.crowds = append(r.crowds, one)
	return one
}

func (r *runner) leave(one *running) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.crowds = slices.DeleteFunc(r.crowds, func(other *running) bool { return other == one })
}

// strike makes a fault among all crowds, at links of one of them, which choose chooses. It returns when the fault has
// ended, even if ctx ends before. Without a crowd it does nothing.
func (r *runner) strike(ctx context.Context, f fault, choose func(crowds []*running) *scene) {
	r.gate.Lock()
	defer r.gate.Unlock()
	r.mu.Lock()
	crowds := slices.Clone(r.crowds)
	r.mu.Unlock()
	if len(crowds) == 0 {
		return
	}
	ctx = context.WithoutCancel(ctx)
	r.lasting.Store(true)
	defer r.lasting.Store(false)
	for _, c := range crowds {
		c.suffers(f)
	}
	var heal func(ctx context.Context)
	must.In("making the fault "+f.name, func() { heal = f.inject(ctx, choose(crowds)) })
	time.Sleep(f.lasts)
	if heal != nil {
		must.In("ending the fault "+f.name, func() { heal(ctx) })
	}
	r.reached.add("fault " + f.name)
}

// The names of what becomes of histories.
const (
	checkedHistories   = "checked histories"
	undecidedHistories = "undecided histories"
)

// judge counts a history. It returns what a check of it found, but for what is not a failure.
func (r *runner) judge(found error) error {
	switch {
	case found == nil:
		r.reached.add(checkedHistories)
	case r.soaks && errors.Is(found, history.ErrUndecided):
		r.reached.add(undecidedHistories)
		return nil
	}
	return found
}
