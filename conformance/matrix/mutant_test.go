package matrix

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/virtual"
	"github.com/hasp-go/hasp/conformance/servers"
)

// The mutants judge the suite: each is a backend broken in one way, which must fail the cases that
// it is meant for. They are here and not in package conformance, which imports no adapter, because
// they need a good backend to break.

// mutant is a backend broken in one way.
type mutant struct {
	name  string
	base  base
	kills []string // the cases that it must fail

	// breakIt breaks a backend. broken passes everything through where it is not changed.
	breakIt func(b *broken)

	// harness, if not nil, changes the harness first.
	harness func(h *conformance.Harness)
}

// base is the good backend that a mutant is made of.
type base int

const (
	onEmbedded base = iota // no faults, but fast
	onServer
	onCluster
	onSentinel
	onNoPubSub
)

// broken is a backend whose methods can be replaced.
type broken struct {
	backend.Backend
	instance *conformance.Instance
	harness  *conformance.Harness

	run       func(ctx context.Context, c backend.Call) (backend.Reply, error)
	subscribe func(context.Context, string, backend.Handler) (backend.Subscription, error)
	batch     func(ctx context.Context, calls []backend.Call) []backend.Outcome // nil: the good one
	before    func(calls []backend.Call) []backend.Call                         // of a good batch; nil: nothing
	wait      waitFunc
	can       func(c backend.Capabilities) backend.Capabilities
	close     func() error
}

type waitFunc func(
	ctx context.Context, c backend.Call, replicas int, timeout time.Duration,
) (backend.Reply, int, error)

func newBroken(in *conformance.Instance, h *conformance.Harness) *broken {
	b := &broken{Backend: in.Backend, instance: in, harness: h}
	b.run = b.good
	b.subscribe = in.Backend.Subscribe
	b.wait = in.Backend.(backend.ReplicaWaiter).RunThenWait
	b.can = func(c backend.Capabilities) backend.Capabilities { return c }
	b.close = in.Backend.Close
	return b
}

// good is Run of the backend below.
func (b *broken) good(ctx context.Context, c backend.Call) (backend.Reply, error) {
	return b.Backend.Run(ctx, c.Script, c.Keys, c.Args)
}

// goodBatch is RunBatch of the backend below, with its outcomes when all are known.
func (b *broken) goodBatch(ctx context.Context, calls []backend.Call) []backend.Outcome {
	return backend.RunAll(ctx, b.Backend.(backend.Batcher), calls)
}

func (b *broken) Run(
	ctx context.Context, s *backend.Script, keys, args []string,
) (backend.Reply, error) {
	return b.run(ctx, backend.Call{Script: s, Keys: keys, Args: args})
}

func (b *broken) Subscribe(
	ctx context.Context, channel string, handler backend.Handler,
) (backend.Subscription, error) {
	return b.subscribe(ctx, channel, handler)
}

func (b *broken) RunBatch(
	ctx context.Context, calls []backend.Call, report func(place int, outcome backend.Outcome),
) {
	if b.before != nil {
		calls = b.before(calls)
	}
	if b.batch == nil {
		b.Backend.(backend.Batcher).RunBatch(ctx, calls, report)
		return
	}
	for place, outcome := range b.batch(ctx, calls) {
		report(place, outcome)
	}
}

func (b *broken) RunThenWait(
	ctx context.Context, c backend.Call, replicas int, timeout time.Duration,
) (backend.Reply, int, error) {
	return b.wait(ctx, c, replicas, timeout)
}

func (b *broken) Capabilities() backend.Capabilities { return b.can(b.Backend.Capabilities()) }
func (b *broken) Close() error                       { return b.close() }

// apply returns the harness whose instances are broken.
func (m mutant) apply(h *conformance.Harness) *conformance.Harness {
	mutated := *h
	if m.harness != nil {
		m.harness(&mutated)
	}
	mutated.New = func(ctx context.Context) (*conformance.Instance, error) {
		in, err := h.New(ctx)
		if err != nil {
			return nil, err
		}
		b := newBroken(in, h)
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
		if !slices.Contains(m.kills, c.Name) {
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
	return slices.Concat(conformance.RunnerCases(), conformance.SubscriberCases())
}

// baseHarness returns the harness of good backends.
func baseHarness(t *testing.T, on base) *conformance.Harness {
	t.Helper()
	switch on {
	case onServer:
		return harness(adapters()[0], standalone(t, servers.Redis), variant{})
	case onCluster:
		return harness(adapters()[0], clusterOf3(t, servers.Redis), variant{})
	case onSentinel:
		return harness(adapters()[0], withSentinel(t, servers.Redis), variant{})
	case onNoPubSub:
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

func mutants() []mutant {
	return slices.Concat(sendMutants(), onceMutants(), replyMutants(), cancelMutants(),
		lifeMutants(), batchMutants(), subscribeMutants(), gapMutants(), shareMutants())
}

// TestMutants prints how many mutants were killed.
func TestMutants(t *testing.T) {
	proof(t)
	t.Parallel()
	all := mutants()
	var mu sync.Mutex
	killed := 0
	t.Run("Each", func(t *testing.T) {
		for _, m := range all {
			t.Run(camel(m.name), func(t *testing.T) {
				t.Parallel()
				require.NoError(t, m.judge(t.Context(), baseHarness(t, m.base)), m.name)
				mu.Lock()
				defer mu.Unlock()
				killed++
			})
		}
	})
	fmt.Printf("killed %d of %d\n", killed, len(all))
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
		for _, name := range m.kills {
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
	proof(t)
	t.Parallel()
	h := baseHarness(t, onNoPubSub)
	t.Run("Subscriber", func(t *testing.T) {
		report := conformance.RunSubscriber(t, h)
		require.Contains(t, report.Passed, "SubscribeWithoutPubSubIsRefused")
	})
	t.Run("Primitives", func(t *testing.T) { conformance.RunPrimitives(t, h) })
	if wholeMatrix() {
		t.Run("Faults", func(t *testing.T) { conformance.RunFaults(t, h) })
	}
}
