// Package mutants judges the suite: each mutant is a backend broken in one way, which must fail the cases that it is
// meant for. They are not in package conformance, which imports no adapter, because they need a good backend to break.
package mutants

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/contract"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/matrix/virtual"
	"github.com/hasp-go/hasp/conformance/servers"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

// mutant is a backend broken in one way.
type mutant struct {
	name  string
	base  base
	kills string // the cases that it must fail

	// breakIt breaks a backend. broken passes everything through where it is not changed.
	breakIt func(b *broken)
}

// base is the good backend that a mutant is made of.
type base int

const (
	embedded base = iota // no faults, but fast
	oneServer
	cluster
	sentinel
	noPubSub
)

// good returns the harness of good backends.
func (on base) good(t *testing.T) *conformance.Harness {
	t.Helper()
	start := map[base]func(testing.TB, servers.Kind) *cells.Target{
		oneServer: cells.Standalone, cluster: cells.Cluster, sentinel: cells.Sentinel,
	}[on]
	switch {
	case start != nil:
		return start(t, servers.Redis).Harness(cells.Named("Rueidis"), cells.Variant{})
	case on == noPubSub:
		h := virtual.Harness()
		h.Capabilities.PubSub = false
		return mutant{breakIt: withoutPubSub}.apply(h)
	}
	return virtual.Harness()
}

// withoutPubSub makes a good backend that has no pub/sub.
func withoutPubSub(b *broken) {
	b.can = func(c backend.Capabilities) backend.Capabilities { c.PubSub = false; return c }
	b.subscribe = func(context.Context, string, backend.Handler) (backend.Subscription, error) {
		return nil, backend.ErrNotSupported
	}
}

// apply returns the harness whose instances are broken.
func (m mutant) apply(h *conformance.Harness) *conformance.Harness {
	mutated, seen := *h, &events{}
	seen.watch(&mutated)
	mutated.New = func(ctx context.Context) (*conformance.Instance, error) {
		in, err := h.New(ctx)
		if err != nil {
			return nil, err
		}
		b := newBroken(in, h)
		b.events = seen
		m.breakIt(b)
		in.Backend = b
		return in, nil
	}
	return &mutated
}

// judge returns what is wrong with the suite if one of the cases that m is meant for passes. The
// others are not asked: what a broken backend does to them says nothing of them.
func (m mutant) judge(ctx context.Context, h *conformance.Harness) error {
	mutated := m.apply(h)
	for _, c := range backendCases() {
		if !slices.Contains(strings.Fields(m.kills), c.Name) {
			continue
		}
		if reason := c.Skip(mutated); reason != "" {
			return fmt.Errorf("case %s did not run: %s", c.Name, reason)
		}
		if err := c.Check(ctx, mutated); err == nil {
			return fmt.Errorf("case %s did not fail", c.Name)
		}
	}
	return nil
}

// backendCases are the cases that mutants of backends are meant for.
func backendCases() []conformance.Case {
	return slices.Concat(contract.RunnerCases(), contract.SubscriberCases())
}

func mutants() []mutant {
	return slices.Concat(sendMutants(), onceMutants(), replyMutants(), cancelMutants(),
		lifeMutants(), batchMutants(), waitMutants(), subscribeMutants(), gapMutants(), shareMutants(), refusalMutants())
}

// TestMutants prints how many mutants were killed.
func TestMutants(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	var killed atomic.Int64
	t.Run("Each", func(t *testing.T) {
		for _, m := range mutants() {
			t.Run(camel(m.name), func(t *testing.T) {
				t.Parallel()
				require.NoError(t, m.judge(t.Context(), m.base.good(t)), m.name)
				killed.Add(1)
			})
		}
	})
	fmt.Printf("killed %d of %d\n", killed.Load(), len(mutants()))
}

// camel makes a subtest's name of a sentence.
func camel(text string) string {
	var name strings.Builder
	for word := range strings.FieldsSeq(text) {
		word = strings.Trim(word, ",.;:'")
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String()
}

func TestEveryCaseHasAMutant(t *testing.T) {
	t.Parallel()
	killed := map[string]bool{}
	for _, m := range mutants() {
		for name := range strings.FieldsSeq(m.kills) {
			killed[name] = true
		}
	}
	for _, c := range backendCases() {
		require.True(t, killed[c.Name], "no mutant is meant for %s", c.Name)
		delete(killed, c.Name)
	}
	require.Empty(t, killed, "mutants are meant for cases that do not exist")
}

// TestWithoutPubSub runs the suite over a backend that has no pub/sub.
func TestWithoutPubSub(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	h := noPubSub.good(t)
	parts := []conformance.Part{conformance.PartSubscriber, conformance.PartPrimitives}
	if cells.Whole() {
		parts = append(parts, conformance.PartFaults)
	}
	require.Contains(t, conformance.Run(t, h, parts...).Passed, "SubscribeWithoutPubSubIsRefused")
}
