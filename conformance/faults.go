package conformance

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"
)

// fault is something that goes wrong with the server, or on the way to it, and ends.
type fault struct {
	name  string
	alone bool // it affects the whole server
	needs []need

	// lease is that of the workers, renewed: longer than bound, where the end of a lease must not
	// be what lets work go on.
	lease time.Duration
	lasts time.Duration

	// bound is how long after the end of the fault a waiting worker may go without the object.
	bound time.Duration

	// loses says that leases may be lost; forgets, that the server may lose what it granted, so that
	// only tokens rise. Else every renewed lease outlives the fault.
	loses, forgets bool

	// steps says that the server's clock is stepped: leases that are no longer than that end before
	// their holders know.
	steps bool

	// keep, if not zero, is how long the holder keeps the object, where that is what matters.
	keep time.Duration

	// calm leaves out the steps with short leases that nobody renews.
	calm bool

	// inject makes the fault. heal ends it; nil: it ends by itself.
	inject func(ctx context.Context, s *scene) (heal func(ctx context.Context) error, err error)
}

// scene is where a fault happens: a workload that runs.
type scene struct {
	*Harness
	key   string // of the object, or any of them
	links []Link // those that faults may hit; empty if there are none
	reach func(situation string)
}

// strike makes the fault, and returns when it has ended. In that time the server may forget what it
// granted, if f.forgets.
func (f fault) strike(ctx context.Context, s *scene) error {
	heal, err := f.inject(ctx, s)
	if err != nil {
		return fmt.Errorf("making the fault %s: %w", f.name, err)
	}
	time.Sleep(f.lasts)
	if heal == nil {
		return nil
	}
	if err := heal(ctx); err != nil {
		return fmt.Errorf("ending the fault %s: %w", f.name, err)
	}
	return nil
}

const (
	// longLease is one that no worker gets the object by: it is longer than what faults may cost.
	longLease = 30 * time.Second
	// longPoll is a poll that comes too late, too. While there is no subscription it comes often
	// enough.
	longPoll = 40 * time.Second
	// faultBound is what a fault may cost the workers after its end, with long leases: a few round
	// trips, and a client's pause before it connects again, on a machine that does much else.
	faultBound = 10 * time.Second
)

// RunFaults makes each fault that h can make while workers use each primitive, and checks that the
// model explains what they saw, that work goes on within the bound of the fault, and that no lease
// is lost that need not be.
func RunFaults(t *testing.T, h *Harness) Report {
	t.Helper()
	return run(t, h, FaultCases())
}

// FaultCases returns a case for each primitive under each fault.
func FaultCases() (cases []Case) {
	for _, w := range leased(Workloads()) {
		for _, f := range faults() {
			cases = append(cases, Case{
				Name: w.Name + "Survives" + f.name, Clause: w.Clause, Alone: f.alone, needs: f.needs,
				check: func(ctx context.Context, e *env) error { return checkFault(ctx, e, w, f) },
			})
		}
	}
	return cases
}

// faults returns all faults.
func faults() []fault { return slices.Concat(linkFaults(), serverFaults()) }
