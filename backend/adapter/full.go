package adapter

import (
	"context"
	"iter"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/evalsha"
	"github.com/hasp-go/hasp/backend/fanout"
)

// Driver is what a [Full] needs of a driver.
type Driver interface {
	evalsha.WaitingPipeline

	// Nodes returns all primaries, as the cluster now is: one at least. Its errors are those of [evalsha.Driver].
	Nodes(ctx context.Context) ([]evalsha.Node, error)
}

type base = Base

// Full is a [Base] that implements [backend.Batcher], [backend.ReplicaWaiter] and [backend.Scanner], too.
type Full struct {
	base
	driver Driver
}

var (
	_ backend.Backend       = (*Full)(nil)
	_ backend.Batcher       = (*Full)(nil)
	_ backend.ReplicaWaiter = (*Full)(nil)
	_ backend.Scanner       = (*Full)(nil)
)

// NewFull returns a Full for an adapter to embed, as [New] returns a Base.
func NewFull(driver Driver, dialer fanout.Dialer, opts *Options) (Full, error) {
	b, err := New(driver, dialer, opts)
	return Full{base: b, driver: driver}, err
}

// RunBatch implements [backend.Batcher]: one round trip to each node, side by side.
func (f *Full) RunBatch(ctx context.Context, calls []backend.Call, report func(place int, outcome backend.Outcome)) {
	f.runner.RunBatch(ctx, f.driver, calls, report)
}

// RunThenWait implements [backend.ReplicaWaiter]. If the driver does not know the cluster, it asks first: calls of
// which nobody knows the node would need a connection each.
func (f *Full) RunThenWait(
	ctx context.Context, calls []backend.Call, replicas int, timeout time.Duration,
	report func(place int, outcome backend.Outcome),
) {
	if f.can.Cluster && len(calls) > 1 && f.driver.Node("") == "" {
		_, _ = f.driver.Nodes(ctx) // Without an answer the calls fail themselves, or succeed.
	}
	f.runner.RunThenWait(ctx, f.driver, calls, replicas, timeout, report)
}

// Scan implements [backend.Scanner].
func (f *Full) Scan(ctx context.Context, pattern string, step int) iter.Seq2[[]string, error] {
	return f.runner.Scan(ctx, f.driver.Nodes, pattern, step)
}
