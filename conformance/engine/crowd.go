package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// running is a crowd with its clients.
type running struct {
	*harness.Env
	*runner
	crowd
	clients []*primitives.Client
	links   []harness.Link // of the clients, if they have any
	trials  []*trial       // one of each object
}

// start makes a crowd's clients and objects. No fault may strike meanwhile.
func (r *runner) start(ctx context.Context, c crowd, e *harness.Env) *running {
	one := &running{Env: e, runner: r, crowd: c}
	for i, s := range c.Objects {
		object := e.Apart(fmt.Sprintf("%s%d.", s.work, i)) // No name is part of another.
		one.trials = append(one.trials, newTrial(one, s, i, object))
	}
	o := &primitives.Options{WatchdogLease: c.Lease, PollInterval: c.Poll}
	for i := range c.Clients {
		client, in := ClientOver(ctx, e, o, func(b backend.Backend) backend.Backend { return one.over(b, i) })
		one.clients = append(one.clients, client)
		if in.Link != nil {
			one.links = append(one.links, in.Link)
		}
	}
	for _, t := range one.trials {
		t.work.prepare(ctx, e, t.object)
	}
	return one
}

// over returns the backend of a client: b behind the client's troubles, and watched.
func (r *running) over(b backend.Backend, client int) backend.Backend {
	link := &troubled{Backend: b, reach: r.reached.add, plans: map[string]*troubles{}}
	for _, t := range r.trials {
		t.ways = append(t.ways, link)
		if client < len(t.Links) {
			plan := t.Links[client]
			link.plans[t.object] = &plan
		}
	}
	if !r.Batches {
		return single{&seer{single{link}, r.sees}}
	}
	return &seer{link, r.sees}
}

// sees counts a script's error, and notes in its object's trial that a script that may have run got no answer.
func (r *running) sees(c backend.Call, err error) {
	var server *backend.ServerError
	if errors.As(err, &server) {
		r.reached.add("error " + server.Code)
	}
	i := slices.IndexFunc(r.trials, func(t *trial) bool { return strings.Contains(c.Keys[0], t.object) })
	if i >= 0 && backend.MayHaveRun(err) {
		r.reached.add(c.Script.Name + " without an answer")
		r.trials[i].unanswered.Store(true)
	}
}

// run lets all actors act on all objects, and checks what happened to each.
func (r *running) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	struck := must.Start(func() { r.besiege(ctx) })
	err := must.Catch(func() { must.Together(len(r.trials), func(i int) { r.try(ctx, i) }) })
	cancel()
	must.Do(errors.Join(err, <-struck))
}

func (r *running) try(ctx context.Context, i int) {
	w := r.Objects[i].work
	if err := must.Catch(func() { r.trials[i].run(ctx) }); err != nil {
		must.Fail("object %d: %w\n%s\nclause %s:\n%s", i, err, r.describe(i), w.clause, w.text)
	}
}

// besiege makes the crowd's own fault, at the first client, when the first object is kept.
func (r *running) besiege(ctx context.Context) {
	if r.Fault == nil {
		return
	}
	t := r.trials[0]
	defer close(t.ended)
	harness.Await(ctx, "the object to be kept", t.kept)
	time.Sleep(settle)
	r.strike(ctx, *r.Fault, func([]*running) *scene { return r.scene(t, r.links[:min(1, len(r.links))]) })
}

// scene is where a fault happens that an object and some links of the crowd are hit by.
func (r *running) scene(t *trial, links []harness.Link) *scene {
	return &scene{Harness: r.h, key: t.work.keyOf(t.object), links: links, reach: r.reached.add}
}

// suffers takes into account that a fault begins. It may take holds from the crowd that their holders trust if
// the server forgets, or if a step of its clock ends leases that are shorter than the fault is for.
func (r *running) suffers(f fault) {
	for _, t := range r.trials {
		if f.forgets || f.steps && r.Lease < f.lease {
			t.forgetful.Store(true)
		}
	}
}
