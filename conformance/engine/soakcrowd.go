package engine

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"pgregory.net/rapid"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// crowd is a few clients that many actors use, on several objects at once: what one object's
// history does not show is what objects do to each other, in a shared batch or connection.
type crowd struct {
	seed, number uint64
	clients      int
	lease, poll  time.Duration
	batches      bool // its links take batches
	parts        []part
}

// part is what a crowd does on one object. Each has its own troubles on the links of all clients.
type part struct {
	work     *workload
	schedule schedule
}

// drawCrowd draws the crowd of that number, which does some of works.
func drawCrowd(seed, number uint64, works []*workload) crowd {
	own := rand.New(rand.NewPCG(seed, number)).Int() //nolint:gosec // It is repeatable on purpose.
	c := rapid.Custom(func(t *rapid.T) crowd { return drawParts(t, works) }).Example(own)
	c.seed, c.number = seed, number
	return c
}

func drawParts(t *rapid.T, works []*workload) crowd {
	lease := rapid.SampledFrom([]time.Duration{workLease, endlessLease}).Draw(t, "lease")
	size := rapid.SampledFrom([]int{1, 2, 4, 8, 16, 32}).Draw(t, "size")
	c := crowd{
		clients: rapid.SampledFrom([]int{1, 2, 3, 8}).Draw(t, "clients"),
		batches: rapid.Bool().Draw(t, "batches"),
	}
	for range size {
		w := rapid.SampledFrom(works).Draw(t, "workload")
		if lease == endlessLease {
			calm := *w
			calm.ops = slices.DeleteFunc(slices.Clone(w.ops), func(op string) bool { return op == "delete" })
			w = &calm
		}
		s := drawSchedule(t, w)
		c.clients = max(c.clients, len(s.Links))
		c.parts = append(c.parts, part{w, s})
	}
	for i := range c.parts {
		s := &c.parts[i].schedule
		for len(s.Links) < c.clients {
			s.Links = append(s.Links, troubles{})
		}
	}
	return c.withLease(lease)
}

// withLease sets the watchdog's lease. With a short one things end without a message, so that
// waiters must look for themselves, too. The crowd must not run yet.
func (c crowd) withLease(lease time.Duration) crowd {
	c.lease, c.poll = lease, time.Hour
	if lease == workLease {
		c.poll = deletionPoll
	}
	for i := range c.parts {
		s := &c.parts[i].schedule
		s.Lease, s.Poll = c.lease, c.poll
	}
	return c
}

// runningCrowd is a crowd while it runs.
type runningCrowd struct {
	crowd
	clients []*primitives.Client
	links   []harness.Link // of the clients, if they have any
	parts   []*running
	cost    atomic.Int64 // how much longer everything may take for the faults so far
}

// start makes the crowd's clients, and objects of its own.
func (c crowd) start(ctx context.Context, e *harness.Env, reached *Situations) *runningCrowd {
	r := &runningCrowd{crowd: c}
	for i, p := range c.parts {
		// No name is part of another.
		on := p.schedule.on(e, p.work, fmt.Sprintf("%s%d.", p.work.name, i), reached)
		on.extra = func() time.Duration { return time.Duration(r.cost.Load()) }
		r.parts = append(r.parts, on)
	}
	o := &primitives.Options{WatchdogLease: c.lease, PollInterval: c.poll, CloseTimeout: time.Hour}
	for i := range c.clients {
		client, in := ClientOver(ctx, e, o, func(b backend.Backend) backend.Backend { return r.roads(b, i, reached) })
		r.clients = append(r.clients, client)
		if in.Link != nil {
			r.links = append(r.links, in.Link)
		}
	}
	return r
}

// run lets all actors act, and checks what happened to each object.
func (r *runningCrowd) run(ctx context.Context) {
	must.Together(len(r.parts), func(i int) {
		p := r.parts[i]
		if err := must.Catch(func() { p.run(ctx, r.clients, r.picture(i)) }); err != nil {
			must.Fail("object %d: %w\n%v\nclause %s:\n%s", i, err, p.schedule, p.work.clause, p.work.text)
		}
	})
	r.parts[0].reached.addN("checked histories", len(r.parts))
}

// suffered takes a fault that has lasted for so long into account.
func (r *runningCrowd) suffered(f fault, d time.Duration) {
	if r.cost.Add(int64(d)) == int64(d) {
		r.cost.Add(int64(afterFaults))
	}
	for _, p := range r.parts {
		p.survived.Store(&f.name)
	}
}

// picture returns where the picture of an object's history goes if it fails.
func (c crowd) picture(object int) string {
	name := fmt.Sprintf("hasp-soak-%d-%d-%d.html", c.seed, c.number, object)
	return filepath.Join(os.TempDir(), name)
}

// roads is the backend of one client of a crowd: each object has a link with its own troubles.
type roads struct {
	backend.Backend
	to map[string]backend.Backend // by the object's name
}

func (r *runningCrowd) roads(b backend.Backend, client int, reached *Situations) backend.Backend {
	all := &roads{Backend: b, to: map[string]backend.Backend{}}
	for _, p := range r.parts {
		plan := p.schedule.Links[client]
		link := &troubled{Backend: b, plan: plan, reach: reached.add}
		p.links = append(p.links, link)
		all.to[p.object] = p.work.witnessed(inBatches(link, r.batches), p.log)
	}
	return inBatches(newWatched(inBatches(all, r.batches), reached.add), r.batches)
}

// Run implements backend.ScriptRunner. What is about several objects goes by the first.
func (r *roads) Run(
	ctx context.Context, script *backend.Script, keys, args []string,
) (backend.Reply, error) {
	return r.road(keys[0]).Run(ctx, script, keys, args)
}

// RunBatch implements backend.Batcher.
func (r *roads) RunBatch(
	ctx context.Context, calls []backend.Call, report func(place int, outcome backend.Outcome),
) {
	places := map[backend.Backend][]int{}
	for i, c := range calls {
		road := r.road(c.Keys[0])
		places[road] = append(places[road], i)
	}
	all := slices.Collect(maps.Keys(places))
	together(len(all), func(i int) { runSome(ctx, all[i], calls, places[all[i]], report) })
}

// Subscribe implements backend.Subscriber.
func (r *roads) Subscribe(
	ctx context.Context, channel string, handler backend.Handler,
) (backend.Subscription, error) {
	return r.road(channel).Subscribe(ctx, channel, handler)
}

// road returns the link of the object that the name of a key or channel has in it.
func (r *roads) road(name string) backend.Backend {
	for object, link := range r.to {
		if strings.Contains(name, object) {
			return link
		}
	}
	return r.Backend
}
