package conformance

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Case is one thing that a clause of the contract asks for.
type Case struct {
	// Name is in CamelCase, and unique in the suite.
	Name string

	// Clause is the clause's number, such as "R3"; [Clause] gives its text.
	Clause string

	// Alone says that the case counts or disturbs what others share, so that nothing else may run
	// on the server meanwhile.
	Alone bool

	needs []need
	check func(ctx context.Context, e *env) error
}

// Patience bounds every case: far more than a working backend needs, on a slow machine too.
const Patience = 60 * time.Second

// Skip returns why the case cannot run with h; "" if it can.
func (c Case) Skip(h *Harness) string {
	for _, missing := range c.needs {
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
	e := newEnv(h)
	defer e.close()
	if err := c.check(ctx, e); err != nil {
		return fmt.Errorf("%w\n\nclause %s:\n%s", err, c.Clause, indent(Clause(c.Clause)))
	}
	return nil
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}

// need returns why h lacks something; "" if it has it.
type need func(h *Harness) string

func needsPubSub(h *Harness) string {
	return unless(h.Capabilities.PubSub, SkipNoPubSub)
}

func needsSharded(h *Harness) string {
	return unless(h.Capabilities.PubSub && h.Capabilities.Sharded,
		SkipUnsharded)
}

func needsNoPubSub(h *Harness) string {
	return unless(!h.Capabilities.PubSub, SkipPubSub)
}

func needsCluster(h *Harness) string {
	return unless(h.Capabilities.Cluster, SkipNoCluster)
}

func needsOneNode(h *Harness) string {
	return unless(!h.Capabilities.Cluster, SkipCluster)
}

func needsBatches(h *Harness) string {
	return unless(h.Batches, SkipNoBatches)
}

func needsReplicaWaiter(h *Harness) string {
	return unless(h.WaitsForReplicas, SkipNoReplicaWaiter)
}

func needsClientList(h *Harness) string {
	return unless(h.ListsClients, SkipNoClientList)
}

func needsRecord(h *Harness) string {
	return unless(h.Record != nil, SkipNoRecord)
}

func needsRestart(h *Harness) string {
	return unless(h.Restart != nil, SkipNoRestart)
}

func needsMigrate(h *Harness) string {
	return unless(h.Migrate != nil, SkipNoMigrate)
}

func needsIsolate(h *Harness) string {
	return unless(h.Isolate != nil, SkipNoIsolate)
}

func needsLink(h *Harness) string {
	return unless(h.Faults, SkipNoFaults)
}

func needsClient(h *Harness) string {
	return unless(!h.NoClient, SkipNoClient)
}

func unless(ok bool, reason string) string {
	if ok {
		return ""
	}
	return reason
}
