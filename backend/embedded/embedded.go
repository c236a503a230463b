package embedded

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/evalsha"
	"github.com/hasp-go/hasp/backend/fanout"
	"github.com/hasp-go/hasp/primitives"
)

// Backend is one client of a [Server]. It implements [backend.Backend], [backend.Batcher],
// [backend.ReplicaWaiter] and [backend.Scanner], and never sees a gap or a lost reply.
type Backend struct {
	server *Server
	runner *evalsha.Runner
	hub    *fanout.Hub
}

var (
	_ backend.Backend       = (*Backend)(nil)
	_ backend.Batcher       = (*Backend)(nil)
	_ backend.ReplicaWaiter = (*Backend)(nil)
	_ backend.Scanner       = (*Backend)(nil)
)

// Options are the options of [New]; there are none yet.
type Options struct {
	_ struct{}
}

// New returns a backend that is a new client of server. It fails if server is nil, and where an int
// has 32 bits. Backends need closing if they subscribe; the server does not.
func New(server *Server, _ *Options) (*Backend, error) {
	if strconv.IntSize < 64 {
		return nil, errors.New("embedded: miniredis counts in int, which must have 64 bits")
	}
	if server == nil {
		return nil, errors.New("embedded: server is nil")
	}
	hub, err := fanout.New(dialer{server}, &hubOptions)
	if err != nil {
		return nil, err
	}
	return &Backend{server: server, runner: evalsha.New(driver{server}, nil), hub: hub}, nil
}

// NewClient returns a client of primitives on server, as a process of its own has it. The client owns
// its backend: Close of the client closes the backend, too. NewClient fails as [New] and
// [primitives.NewClosing] do. After an error nothing is left open.
func NewClient(server *Server, opts *primitives.Options) (*primitives.Client, error) {
	b, err := New(server, nil)
	if err != nil {
		return nil, err
	}
	return primitives.NewClosing(b, opts)
}

// Server returns the server that the backend is a client of.
func (b *Backend) Server() *Server { return b.server }

// Capabilities implements [backend.Backend].
func (b *Backend) Capabilities() backend.Capabilities {
	return backend.Capabilities{PubSub: true}
}

// Close implements [backend.Backend]. The server and its other backends go on.
func (b *Backend) Close() error {
	b.runner.Close()
	b.hub.Close()
	return nil
}

// Run implements [backend.ScriptRunner].
func (b *Backend) Run(
	ctx context.Context, script *backend.Script, keys, args []string,
) (backend.Reply, error) {
	return b.runner.Run(ctx, script, keys, args)
}

// Subscribe implements [backend.Subscriber].
func (b *Backend) Subscribe(
	ctx context.Context, channel string, handler backend.Handler,
) (backend.Subscription, error) {
	return b.hub.Subscribe(ctx, channel, handler)
}

// RunBatch implements [backend.Batcher]: there is no round trip to save.
func (b *Backend) RunBatch(
	ctx context.Context, calls []backend.Call, report func(place int, outcome backend.Outcome),
) {
	b.runner.RunBatch(ctx, driver{b.server}, calls, report)
}

// RunThenWait implements [backend.ReplicaWaiter]. The server has no replicas: Acked is 0, at once.
func (b *Backend) RunThenWait(
	ctx context.Context, calls []backend.Call, _ int, _ time.Duration,
	report func(place int, outcome backend.Outcome),
) {
	b.RunBatch(ctx, calls, report)
}

// Scan implements [backend.Scanner].
func (b *Backend) Scan(ctx context.Context, pattern string, step int) iter.Seq2[[]string, error] {
	return b.runner.Scan(ctx, driver{b.server}.primaries, pattern, step)
}

// driver sends a runner's commands to the server.
type driver struct{ server *Server }

// Send implements [evalsha.Driver]. A call that ctx may end runs in a goroutine of its own, so
// a long script delays nobody beyond his ctx.
func (d driver) Send(ctx context.Context, cmd evalsha.Command) (backend.Reply, error) {
	words := cmd.Words()
	if ctx.Done() == nil {
		return d.server.Do(words...)
	}
	done := make(chan backend.Outcome, 1)
	go func() {
		reply, err := d.server.Do(words...)
		done <- backend.Outcome{Reply: reply, Err: err}
	}()
	select {
	case outcome := <-done:
		return outcome.Reply, outcome.Err
	case <-ctx.Done():
		return backend.Reply{}, ctx.Err()
	}
}

// SendAll implements [evalsha.Pipeline].
func (d driver) SendAll(ctx context.Context, cmds []evalsha.Command) []backend.Outcome {
	outcomes := make([]backend.Outcome, len(cmds))
	for i, cmd := range cmds {
		outcomes[i].Reply, outcomes[i].Err = d.Send(ctx, cmd)
	}
	return outcomes
}

// Node implements [evalsha.Pipeline]. There is one node.
func (d driver) Node(string) string { return "" }

// Load implements [evalsha.Driver].
func (d driver) Load(_ context.Context, script *backend.Script, _ string) error {
	_, err := d.server.Do("SCRIPT", "LOAD", script.Source)
	return err
}

// LoadAll implements [evalsha.Driver].
func (d driver) LoadAll(ctx context.Context, script *backend.Script) error {
	return d.Load(ctx, script, "")
}

// primaries returns the one node, for [evalsha.Runner.Scan].
func (d driver) primaries(context.Context) ([]evalsha.Node, error) {
	return []evalsha.Node{d.Send}, nil
}
