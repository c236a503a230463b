package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// gate is a point of a schedule at which actors wait for others. It opens when every step that opens it has been
// granted the object.
type gate string

// The gates of a siege.
const (
	warmed gate = "all have had it"                 // else a client that has not subscribed yet would poll early
	kept   gate = "it is kept"                      // so that the fault may strike
	ended  gate = "the fault has ended"             // opened by the fault
	served gate = "the waiters have had it"         // after the fault
	last   gate = "all have had it after the fault" // for which nobody waits
)

// passage is a gate of a trial. Nil is open, and nobody opens it.
type passage struct {
	left atomic.Int32 // so many must still pass before it opens
	open chan struct{}
}

func (p *passage) pass() {
	if p != nil && p.left.Add(-1) == 0 {
		close(p.open)
	}
}

func (p *passage) await(ctx context.Context) {
	if p != nil {
		harness.Await(ctx, "the other actors", p.open)
	}
}

// passages makes the gates of a schedule.
func (s schedule) passages() map[gate]*passage {
	all := map[gate]*passage{}
	count := func(g gate) {
		if all[g] == nil {
			all[g] = &passage{open: make(chan struct{})}
		}
		all[g].left.Add(1)
	}
	for _, steps := range s.Actors {
		for _, step := range steps {
			if step.Opens != "" {
				count(step.Opens)
			}
		}
	}
	if len(all) > 0 {
		count(ended)
	}
	return all
}

// again reports whether a step that was granted the object, or not, is to be taken again.
func (s Step) again(granted bool, until *passage) bool {
	if until != nil {
		return !isClosed(until.open)
	}
	return s.Opens != "" && !granted
}

// siege is a schedule of two clients, with three actors each, in whose midst a fault strikes. The first
// client's link is the one that faults of links hit. When the fault has ended, each actor must get
// the object once more.
type siege struct {
	schedule
	where string
	keeps bool // all leases are renewed while the fault lasts
}

const (
	nobody = -1 // keeps the object
	// settle is what the others get to come to waiting, once an actor has the object.
	settle = 50 * time.Millisecond
	// besieged is how long a siege may take in addition to the fault and its keeper: less than longLease.
	besieged = 8*time.Second + afterFaults
)

// sieges returns those of a case: with the fault at the holder's client and at the waiters', while the
// object is kept for longer than the fault and while it is released in the midst of it, and among
// mixed work.
func (f fault) sieges(w *workload) []siege {
	within, beyond := f.lasts/2+settle, max(f.lasts+2*settle, f.keep)
	all := []siege{w.siege("at the holder, who keeps the object", 0, beyond)}
	// A fault of the whole server is the same for both, and a long one is not repeated three times.
	if f.lasts < time.Second && !f.alone {
		all = append(all, w.siege("at the holder, who releases", 0, within))
	}
	if f.keep == 0 {
		all = append(all, w.siege("at the waiters", 1, within))
	}
	if !f.calm {
		all = append(all, w.siege("at mixed work", nobody, 0))
	}
	return all
}

// siege returns the one in which an actor, the keeper, keeps the object for so long while the fault strikes. Those of
// its client rest meanwhile, and those of the other client wait. Nobody: all do everything that they can.
func (w *workload) siege(where string, keeper int, hold time.Duration) siege {
	s := siege{schedule{work: w, Within: besieged + hold}, where, keeper != nobody}
	for actor := range 6 {
		brief := time.Duration(1+actor) * time.Millisecond
		get := func(after, until, opens gate, hold time.Duration) Step {
			return Step{Op: w.waiting, Pause: brief, Hold: hold, After: after, Until: until, Opens: opens}
		}
		steps := []Step{get("", "", warmed, brief)}
		switch {
		case keeper == nobody:
			mixed := Step{After: warmed, Until: ended}
			if actor == 0 {
				mixed.Opens = kept
			}
			steps = append(steps, mixed, get("", "", last, brief))
		case actor%2 != keeper:
			steps = append(steps, get(kept, ended, "", brief), get("", "", served, brief))
		case actor == keeper:
			steps = append(steps, get(warmed, "", kept, hold), get(served, "", last, brief))
		default:
			steps = append(steps, get(served, "", last, brief))
		}
		s.Actors = append(s.Actors, steps)
	}
	return s
}

// besiege runs the sieges of a fault, one after the other. It fails also if a lease was lost that need not be.
func (f fault) besiege(ctx context.Context, h *harness.Harness, w *workload) {
	for i, s := range f.sieges(w) {
		r := &runner{h: h, reached: new(Situations)}
		c := crowd{
			Clients: 2, Lease: f.lease, Poll: longPoll, Batches: true, Objects: []schedule{s.schedule}, Fault: &f,
			Picture: filepath.Join(os.TempDir(), fmt.Sprintf("hasp-%v%s-%d-%d", w, f.name, os.Getpid(), i)),
		}
		if !h.Capabilities.PubSub {
			c.Poll = time.Second
		}
		must.In(s.where, func() { must.Do(r.run(ctx, c)) })
		lost := r.reached.copy()["loss"]
		must.If(lost > 0 && s.keeps && !f.loses && !f.forgets,
			"%s: %d renewed leases of %v were lost", s.where, lost, f.lease)
	}
}
