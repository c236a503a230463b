package virtual_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/virtual"
)

// plantedVariable names a file of scripts with bugs, by their names, which are run in the place of ours.
const plantedVariable = "HASP_PLANTED"

// newHarness is virtual.Harness, with the scripts of plantedVariable.
func newHarness(t *testing.T) *conformance.Harness {
	t.Helper()
	file, ok := os.LookupEnv(plantedVariable)
	if !ok {
		return virtual.Harness()
	}
	text, err := os.ReadFile(file) //nolint:gosec // From the test's environment.
	require.NoError(t, err)
	bad := &scripts{}
	require.NoError(t, json.Unmarshal(text, &bad.sources))
	return virtual.Wrapped(func(b *embedded.Backend) backend.Backend { return planted{b, bad} })
}

// scripts are those with bugs. Backends know scripts by their address, so that each is made once.
type scripts struct {
	sources map[string]string
	made    sync.Map
}

// of returns what is run in the place of good.
func (s *scripts) of(good *backend.Script) *backend.Script {
	source, ok := s.sources[good.Name]
	if !ok {
		return good
	}
	bad := backend.NewScript(good.Name, source, good.Keys, good.Retry)
	first, _ := s.made.LoadOrStore(good, bad)
	return first.(*backend.Script)
}

// planted runs scripts with bugs.
type planted struct {
	*embedded.Backend
	bad *scripts
}

// Run implements [backend.ScriptRunner].
func (p planted) Run(
	ctx context.Context, script *backend.Script, keys, args []string,
) (backend.Reply, error) {
	return p.Backend.Run(ctx, p.bad.of(script), keys, args)
}

// RunBatch implements [backend.Batcher].
func (p planted) RunBatch(
	ctx context.Context, calls []backend.Call, report func(place int, outcome backend.Outcome),
) {
	calls = slices.Clone(calls)
	for i := range calls {
		calls[i].Script = p.bad.of(calls[i].Script)
	}
	p.Backend.RunBatch(ctx, calls, report)
}

// RunThenWait implements [backend.ReplicaWaiter].
func (p planted) RunThenWait(
	ctx context.Context, call backend.Call, replicas int, timeout time.Duration,
) (backend.Reply, int, error) {
	call.Script = p.bad.of(call.Script)
	return p.Backend.RunThenWait(ctx, call, replicas, timeout)
}
