package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// siege is a schedule of two clients, with three actors each, during which a fault strikes. The first client's link is
// the one that faults of links hit. When the fault has ended, each actor must get the object once more.
type siege struct {
	schedule
	where string
	keeps bool // all leases are renewed while the fault lasts
}

const (
	nobody = -1                    // keeps the object
	settle = 50 * time.Millisecond // the other actors come to waiting, once an actor has the object
	// besieged is how long a siege may take in addition to the fault and its keeper: less than longLease.
	besieged = 8*time.Second + afterFaults
)

// sieges returns the sieges of a case.
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

// siege returns the siege in which an actor, the keeper, keeps the object for that time while the fault strikes. The
// others get it again and again until the fault has ended. Nobody: all do everything that they can.
func (w *workload) siege(where string, keeper int, hold time.Duration) siege {
	s := siege{schedule{work: w, Within: besieged + hold}, where, keeper != nobody}
	for actor := range 6 {
		brief := time.Duration(1+actor) * time.Millisecond
		once := Step{Op: w.waiting, Pause: brief, Hold: brief, Insists: true, Strikes: keeper == nobody && actor == 0}
		again, kept := once, once
		again.UntilEnded, again.Insists, kept.Hold, kept.Strikes = true, false, hold, true
		switch {
		case actor == keeper:
			s.Actors = append(s.Actors, []Step{once, kept, again, once})
		case keeper == nobody:
			s.Actors = append(s.Actors, []Step{once, {UntilEnded: true}, once})
		default:
			s.Actors = append(s.Actors, []Step{once, again, once})
		}
	}
	return s
}

// besiege runs the sieges of a fault, one after the other. It also fails if a lease was lost that need not be.
func (f fault) besiege(ctx context.Context, h *harness.Harness, w *workload) {
	for i, s := range f.sieges(w) {
		r := &runner{h: h, reached: new(Coverage)}
		c := crowd{
			Clients: 2, Lease: f.lease, Poll: longPoll, Batches: true, Objects: []schedule{s.schedule}, Fault: &f,
			Picture: filepath.Join(os.TempDir(), fmt.Sprintf("hasp-%v%s-%d-%d", w, f.name, os.Getpid(), i)),
		}
		if !h.Capabilities.PubSub {
			c.Poll = time.Second
		} else if !s.keeps { // A reader whose lease is short and whose client gets no answer ends without a message.
			c.Poll = besieged / 3
		}
		must.In(s.where, func() { must.Do(r.run(ctx, c)) })
		lost := r.reached.copy()["loss"]
		must.Not(lost > 0 && s.keeps && !f.loses && !f.forgets,
			"%s: %d renewed leases of %v were lost", s.where, lost, f.lease)
	}
}
