package engine

import (
	"context"
	"slices"
	"time"

	"github.com/hasp-go/hasp/conformance/harness"
)

// fault is something that goes wrong with the server, or on the way to it, and ends.
type fault struct {
	name  string
	alone bool // it affects the whole server
	needs []harness.Need

	// lease is that of the actors, renewed: longer than their time, where the end of a lease must not
	// be what lets them go on. Zero: longLease.
	lease time.Duration
	lasts time.Duration

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
	inject func(ctx context.Context, s *scene) (heal func(ctx context.Context))
}

// mild reports whether f is for primitives without leases, too.
func (f fault) mild() bool { return !f.forgets && !f.steps }

// scene is where a fault happens: crowds that run.
type scene struct {
	*harness.Harness
	key   string         // of an object
	links []harness.Link // those that faults may hit; empty if there are none
	reach func(situation string)
}

const (
	// longLease is one that no actor gets the object by: it is longer than what faults may cost.
	longLease = 30 * time.Second
	// longPoll is a poll that comes too late, too. While there is no subscription it comes often
	// enough.
	longPoll = 40 * time.Second
	// briefly is how long a fault lasts that is over before a lease ends.
	briefly = 200 * time.Millisecond
	// beyondLease is longer than workLease.
	beyondLease = workLease + workLease/3
	// renewedLease leaves a slow machine half of it for another try.
	renewedLease = 9 * time.Second
)

// FaultCases implements [Subject]: a case for each fault, under which the model explains what actors
// saw, work goes on after it, and no lease is lost that need not be.
func (p *Primitive[S, I, O]) FaultCases() (cases []harness.Case) {
	if !p.hasLeases() {
		return nil
	}
	for _, f := range faults() {
		name := "Survives" + f.name
		cases = append(cases, harness.Case{
			Name: p.Name + name, Shared: name, Clause: p.Limit, Text: p.Promises[p.Limit],
			Alone: f.alone, Needs: p.needs(f.needs),
			Run: func(ctx context.Context, e *harness.Env) { f.besiege(ctx, p.over(e.Harness), p.workload()) },
		})
	}
	return cases
}

// faults returns all faults.
func faults() []fault {
	links, servers := linkFaults(), serverFaults()
	for i := range links {
		links[i].needs = []harness.Need{harness.Faults}
	}
	for i := range servers {
		servers[i].alone = true
	}
	all := slices.Concat(links, servers)
	for i := range all {
		if all[i].lease == 0 {
			all[i].lease = longLease
		}
	}
	return all
}
