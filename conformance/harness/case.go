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
		if reason := missing(h); reason != "" {
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

// Why a case cannot run with a harness. A test asserts those that it expects.
const (
	SkipNoPubSub        = "the backend has no pub/sub"
	SkipNoMessages      = "the primitive has no messages"
	SkipPubSub          = "the backend has pub/sub"
	SkipUnsharded       = "channels do not move with slots"
	SkipNoCluster       = "the server is not a cluster"
	SkipCluster         = "the server is a cluster"
	SkipNoBatches       = "the backend does not batch"
	SkipNoReplicaWaiter = "the backend does not wait for replicas"
	SkipNoScanner       = "the backend does not list keys"
	SkipNoClient        = "the backend has no client below it"
	SkipNoClientList    = "the server does not list its clients"
	SkipNoDebug         = "the server does not allow DEBUG"
	SkipFixedRoles      = "the roles of servers are not the suite's to change"
	SkipNoFaults        = "the harness cannot disturb connections"
	SkipNoRestart       = "the harness cannot restart the server"
	SkipNoPause         = "the harness cannot stop the server"
	SkipNoFailOver      = "the harness cannot fail over"
	SkipNoIsolate       = "the harness cannot isolate a primary"
	SkipNoMigrate       = "the harness cannot migrate a slot"
	SkipNoAdvance       = "the harness cannot move the server's clock"
	SkipRandom          = "-short leaves out what runs at random in real time"
	SkipShared          = "-short leaves it to the first primitive that shares what it judges"
)

// Need returns why h lacks something; "" if it has it.
type Need func(h *Harness) string

// What cases need.
var (
	PubSub        = needs(SkipNoPubSub, func(h *Harness) bool { return h.Capabilities.PubSub })
	NoPubSub      = needs(SkipPubSub, func(h *Harness) bool { return !h.Capabilities.PubSub })
	Sharded       = needs(SkipUnsharded, func(h *Harness) bool { return h.Capabilities.PubSub && h.Capabilities.Sharded })
	Cluster       = needs(SkipNoCluster, func(h *Harness) bool { return h.Capabilities.Cluster })
	OneNode       = needs(SkipCluster, func(h *Harness) bool { return !h.Capabilities.Cluster && !h.OneEndpoint })
	Batches       = needs(SkipNoBatches, func(h *Harness) bool { return h.Batches })
	ReplicaWaiter = needs(SkipNoReplicaWaiter, func(h *Harness) bool { return h.WaitsForReplicas })
	Scans         = needs(SkipNoScanner, func(h *Harness) bool { return h.Scans })
	ClientList    = needs(SkipNoClientList, func(h *Harness) bool { return h.ListsClients })
	Debug         = needs(SkipNoDebug, func(h *Harness) bool {
		_, err := h.Do(context.Background(), "", "DEBUG", "HELP")
		return err == nil
	})
	Restart    = needs(SkipNoRestart, func(h *Harness) bool { return h.Restart != nil })
	Pause      = needs(SkipNoPause, func(h *Harness) bool { return h.Pause != nil })
	FailOver   = needs(SkipNoFailOver, func(h *Harness) bool { return h.FailOver != nil })
	FixedRoles = needs(SkipFixedRoles, func(h *Harness) bool { return h.FailOver == nil })
	Isolate    = needs(SkipNoIsolate, func(h *Harness) bool { return h.Isolate != nil })
	Migrate    = needs(SkipNoMigrate, func(h *Harness) bool { return h.Migrate != nil })
	Advance    = needs(SkipNoAdvance, func(h *Harness) bool { return h.Advance != nil })
	Faults     = needs(SkipNoFaults, func(h *Harness) bool { return h.Faults })
	HasClient  = needs(SkipNoClient, func(h *Harness) bool { return !h.NoClient })
)

func needs(reason string, has func(h *Harness) bool) Need {
	return func(h *Harness) string {
		if has(h) {
			return ""
		}
		return reason
	}
}
