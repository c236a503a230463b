// Package cells has the parts of the matrix: adapters, servers and topologies, and processes that can be killed.
package cells

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// Child is [servers.Child]: tests are compiled in the checkout of the last release, too, with these names.
type Child = servers.Child

// StartChild, AsChild and Say are those of package servers.
var (
	StartChild = servers.StartChild
	AsChild    = servers.AsChild
	Say        = servers.Say
)

// Cell is one place of the matrix.
type Cell struct {
	Adapter  Adapter
	Kind     servers.Kind
	Topology Topology
}

// All are all cells.
func All() (all []Cell) {
	for _, kind := range servers.Kinds() {
		for _, topology := range Topologies() {
			for _, a := range Adapters() {
				all = append(all, Cell{a, kind, topology})
			}
		}
	}
	return all
}

// Name returns the cell's name, such as RueidisOnRedisCluster.
func (c Cell) Name() string { return c.Adapter.Name + "On" + c.Kind.String() + c.Topology.Name }

// Harness starts the cell's servers, for the test alone.
func (c Cell) Harness(tb testing.TB) *conformance.Harness {
	tb.Helper()
	return c.Topology.Start(tb, c.Kind).Harness(c.Adapter, Variant{})
}

// Whole reports whether the whole matrix is asked for, not a part.
func Whole() bool { return os.Getenv("HASP_MATRIX") == "all" }

// Proof leaves a test to "make prove": it takes long, and judges more than this machine and the change at hand.
func Proof(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("make prove runs it: -short leaves it out")
	}
}

// Want returns a function that takes what a call returned, and requires that it is want, and no error.
func Want[T any](tb testing.TB, want T) func(T, error) {
	tb.Helper()
	return func(got T, err error) {
		tb.Helper()
		require.NoError(tb, err)
		require.Equal(tb, want, got)
	}
}

// Got returns a function that returns what a call returned, and requires that it did not fail.
func Got[T any](v T, err error) func(tb testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		require.NoError(tb, err)
		return v
	}
}

// Err returns the error alone that a call returned.
func Err[T any](_ T, err error) error { return err }

// Within returns what comes from got, which must not take longer than bound.
func Within[T any](tb testing.TB, bound time.Duration, what string, got <-chan T) (v T) {
	tb.Helper()
	select {
	case v = <-got:
	case <-time.After(bound):
		require.FailNow(tb, what, "not within %v", bound)
	}
	return v
}

// Bubble runs a parallel test in virtual time.
func Bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

// LockUnlock takes a lock and releases it.
func LockUnlock(ctx context.Context, l *primitives.Lock) error {
	lease, err := l.Lock(ctx)
	if err == nil {
		err = lease.Release(ctx)
	}
	return err
}

// Main is conformance.Main without go-redis's lines about dials that fail. LUACOVER is for "make luacover".
func Main(m *testing.M) int {
	redis.SetLogger(silent{})
	run := func() int { return conformance.Main(m) }
	return embedded.CoverLua(run, "../../../primitives/internal/script", os.Getenv("LUACOVER"))
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
