package embedded

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/adapter"
	"github.com/hasp-go/hasp/backend/evalsha"
	"github.com/hasp-go/hasp/primitives"
)

// Backend is one client of a [Server]. It implements [backend.Backend], [backend.Batcher],
// [backend.ReplicaWaiter] and [backend.Scanner], and never sees a gap or a lost reply.
//
// Its methods are those of [adapter.Full], and Server. The server has no replicas: RunThenWait counts 0, at once. The
// server and its other backends go on after Close.
type Backend struct {
	full
	server *Server
}

type full = adapter.Full

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
	f, err := adapter.NewFull(driver{server}, dialer{server},
		&adapter.Options{Can: backend.Capabilities{PubSub: true}, PubSub: &hubOptions})
	return &Backend{full: f, server: server}, err
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

// driver implements [adapter.Driver].
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

func (d driver) Load(ctx context.Context, script *backend.Script, _ string) error {
	return adapter.Load(ctx, d.Send, script)
}

func (d driver) LoadAll(ctx context.Context, script *backend.Script) error {
	return d.Load(ctx, script, "")
}

// SendThenWait implements [evalsha.WaitingPipeline].
func (d driver) SendThenWait(ctx context.Context, cmds []evalsha.Command, _ int, _ time.Duration) []backend.Outcome {
	return d.SendAll(ctx, cmds)
}

func (d driver) Nodes(context.Context) ([]evalsha.Node, error) {
	return []evalsha.Node{d.Send}, nil
}
