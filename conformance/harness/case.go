package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hasp-go/hasp/conformance/must"
)

// Case is one thing that a clause of a contract asks for.
type Case struct {
	// Name is in CamelCase, and unique in the suite.
	Name string

	// Clause is the clause's number, such as "R3" or "Lock.Waiting", and Text what it says.
	Clause, Text string

	// Alone says that the case counts or disturbs what others share, so nothing else may run on the server meanwhile.
	Alone bool

	// Shared is the name without the primitive's, if the case judges what primitives share, such as the
	// watchdog: with -short the first of them stands for all. Empty: it judges its primitive alone.
	Shared string

	// Needs are what a harness must have.
	Needs []Need

	// Run does what the case is about. It fails by package must.
	Run func(ctx context.Context, e *Env)
}

// NewCase returns a case about a clause, whose text promises has.
func NewCase(
	promises map[string]string, name, clause string, needs []Need, run func(ctx context.Context, e *Env),
) Case {
	return Case{Name: name, Clause: clause, Text: promises[clause], Needs: needs, Run: run}
}

// Patience bounds every case: far more than a working backend needs, on a slow machine too.
const Patience = 60 * time.Second

// Skip returns why the case cannot run with h; "" if it can.
func (c Case) Skip(h *Harness) string { return Lacks(h, c.Needs) }

// Lacks returns why h lacks one of needs; "" if it has all.
func Lacks(h *Harness, needs []Need) string {
	for _, missing := range needs {
		if reason := missing.Lacks(h); reason != "" {
			return reason
		}
	}
	return ""
}

// Check runs the case, which [Case.Skip] must allow, and returns what is wrong, for up to
// [Patience]. The error ends with the text of the clause.
func (c Case) Check(ctx context.Context, h *Harness) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	e := NewEnv(h)
	if err := errors.Join(must.Catch(func() { c.Run(ctx, e) }), must.Catch(e.Close)); err != nil {
		return fmt.Errorf("%w\n\nclause %s:\n    %s", err, c.Clause, strings.ReplaceAll(c.Text, "\n", "\n    "))
	}
	return nil
}

// Why a case is left out that needs nothing more.
const (
	SkipNoMessages = "the primitive has no messages"
	SkipRandom     = "-short leaves out what runs at random in real time"
	SkipShared     = "-short leaves it to the first primitive that shares what it judges"
)

// Need is something that a harness must have: without it a case cannot run. A test asserts the reasons that it expects.
type Need struct {
	Reason string
	Has    func(h *Harness) bool
}

// Lacks returns the reason if h lacks it; "" if h has it.
func (n Need) Lacks(h *Harness) string {
	if n.Has(h) {
		return ""
	}
	return n.Reason
}

// What cases need.
var (
	PubSub        = Need{"the backend has no pub/sub", func(h *Harness) bool { return h.Capabilities.PubSub }}
	NoPubSub      = Need{"the backend has pub/sub", func(h *Harness) bool { return !h.Capabilities.PubSub }}
	Sharded       = Need{"channels do not move with slots", func(h *Harness) bool { return h.Capabilities.PubSub && h.Capabilities.Sharded }}
	Cluster       = Need{"the server is not a cluster", func(h *Harness) bool { return h.Capabilities.Cluster }}
	OneNode       = Need{"the server is a cluster", func(h *Harness) bool { return !h.Capabilities.Cluster && !h.OneEndpoint }}
	Batches       = Need{"the backend does not batch", func(h *Harness) bool { return h.Batches }}
	ReplicaWaiter = Need{"the backend does not wait for replicas", func(h *Harness) bool { return h.WaitsForReplicas }}
	Scans         = Need{"the backend does not list keys", func(h *Harness) bool { return h.Scans }}
	ClientList    = Need{"the server does not list its clients", func(h *Harness) bool { return h.ListsClients }}
	Restart       = Need{"the harness cannot restart the server", func(h *Harness) bool { return h.Restart != nil }}
	Pause         = Need{"the harness cannot stop the server", func(h *Harness) bool { return h.Pause != nil }}
	FailOver      = Need{"the harness cannot fail over", func(h *Harness) bool { return h.FailOver != nil }}
	FixedRoles    = Need{"the roles of servers are not the suite's to change", func(h *Harness) bool { return h.FailOver == nil }}
	Isolate       = Need{"the harness cannot isolate a primary", func(h *Harness) bool { return h.Isolate != nil }}
	Migrate       = Need{"the harness cannot migrate a slot", func(h *Harness) bool { return h.Migrate != nil }}
	Advance       = Need{"the harness cannot move the server's clock", func(h *Harness) bool { return h.Advance != nil }}
	Faults        = Need{"the harness cannot disturb connections", func(h *Harness) bool { return h.Faults }}
	HasClient     = Need{"the backend has no client below it", func(h *Harness) bool { return !h.NoClient }}
)
