package goredisbackend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/adapter"
	"github.com/hasp-go/hasp/backend/evalsha"
)

// driver implements [adapter.Driver].
type driver struct {
	client  redis.UniversalClient
	single  *redis.Client        // nil in a cluster
	cluster *redis.ClusterClient // nil if single
	prompt  bool                 // the client returns at a context's deadline
}

// promptError is [evalsha.Promptly] for what returns an error only.
func promptError(ctx context.Context, do func() error) error {
	if err, ok := evalsha.Promptly(ctx, do); ok {
		return err
	}
	return ctx.Err()
}

// Send implements [evalsha.Driver]. A cluster client follows redirects.
func (d *driver) Send(ctx context.Context, cmd evalsha.Command) (backend.Reply, error) {
	c := newCommand(ctx, cmd, d.cluster != nil)
	if d.ofBatch(ctx, cmd) { // Its callers leave by themselves, or at the deadline.
		return c.outcome(d.client.Process(ctx, c))
	}
	return c.sendBy(ctx, d.client)
}

// sendBy sends c by client, and returns when ctx ends.
func (c *command) sendBy(ctx context.Context, client redis.UniversalClient) (backend.Reply, error) {
	ctx, stop := bound(ctx, c)
	defer stop()
	err, ok := evalsha.Promptly(ctx, func() error { return client.Process(ctx, c) })
	if !ok || endedAt(ctx, err) {
		return backend.Reply{}, c.abandoned(ctx)
	}
	return c.outcome(err)
}

// endedAt reports whether a client with ContextTimeoutEnabled has failed with err at ctx's deadline. The timer of ctx
// may be a bit later.
func endedAt(ctx context.Context, err error) bool {
	deadline, bounded := ctx.Deadline()
	return bounded && errors.Is(err, os.ErrDeadlineExceeded) && !time.Now().Before(deadline)
}

// ofBatch reports whether a command is of a batch, and so returns when the driver does.
func (d *driver) ofBatch(ctx context.Context, cmd evalsha.Command) bool {
	_, bounded := ctx.Deadline()
	return cmd.Claim != nil && (bounded && d.prompt || ctx.Done() == nil)
}

// SendAll implements [evalsha.Pipeline]. It leaves redirects to later sends: within a
// pipeline, the driver may take a command that was redirected, sent there and lost for one that was
// only redirected.
func (d *driver) SendAll(ctx context.Context, cmds []evalsha.Command) []backend.Outcome {
	commands := newCommands(ctx, cmds, d.cluster != nil)
	ctx, stop := bound(ctx, commands...)
	defer stop()
	err, ok := evalsha.Promptly(ctx, func() error {
		node, err := d.primary(ctx, cmds[0].Keys[0])
		if err == nil {
			exec(ctx, node.Pipeline(), commands)
		}
		return err
	})
	if !ok {
		return abandoned(ctx, commands)
	}
	return outcomesOf(commands, err)
}

// exec sends commands through pipe. Each command has a value or an error then: the driver sets neither if an error
// reply has ended the setting up of the connection.
func exec(ctx context.Context, pipe redis.Pipeliner, commands []*command) {
	for _, c := range commands {
		_ = pipe.Process(ctx, c) // queues it
	}
	_, err := pipe.Exec(ctx)
	for _, c := range commands {
		if !c.replied(nil) && c.Err() == nil {
			c.SetErr(err)
		}
	}
}

// primary returns the client of the node that owns key. It may ask the cluster.
func (d *driver) primary(ctx context.Context, key string) (*redis.Client, error) {
	if d.single != nil {
		return d.single, nil
	}
	return d.cluster.MasterForKey(ctx, key)
}

// Node implements [evalsha.Pipeline]. Under a context that has ended the client does not ask.
func (d *driver) Node(key string) string {
	node, err := d.primary(ended, key)
	if err != nil {
		return ""
	}
	return node.Options().Addr
}

func (d *driver) Load(ctx context.Context, script *backend.Script, key string) error {
	return promptError(ctx, func() error {
		node, err := d.primary(ctx, key)
		if err == nil {
			err = adapter.Load(ctx, nodeOf(node), script)
		}
		return err
	})
}

func (d *driver) LoadAll(ctx context.Context, script *backend.Script) error {
	return adapter.LoadAll(ctx, d.Nodes, script)
}

// primaries returns all primaries, as the cluster now is: one at least.
func (d *driver) primaries(ctx context.Context) (nodes []*redis.Client, err error) {
	if d.single != nil {
		return []*redis.Client{d.single}, nil
	}
	type result struct {
		nodes []*redis.Client
		err   error
	}
	found, ok := evalsha.Promptly(ctx, func() (r result) {
		var mu sync.Mutex
		r.err = d.cluster.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
			mu.Lock()
			defer mu.Unlock()
			r.nodes = append(r.nodes, node)
			return nil
		})
		return r
	})
	switch {
	case !ok:
		return nil, ctx.Err()
	case found.err != nil || len(found.nodes) == 0:
		return nil, fmt.Errorf("no primary: %w", errors.Join(found.err, backend.ErrUnavailable))
	}
	return found.nodes, nil
}

func (d *driver) Nodes(ctx context.Context) (nodes []evalsha.Node, err error) {
	primaries, err := d.primaries(ctx)
	for _, primary := range primaries {
		nodes = append(nodes, nodeOf(primary))
	}
	return nodes, err
}

func nodeOf(client *redis.Client) evalsha.Node {
	return func(ctx context.Context, cmd evalsha.Command) (backend.Reply, error) {
		return newCommand(ctx, cmd, false).sendBy(ctx, client)
	}
}

// acks is the answer to a WAIT.
type acks struct {
	n   int64
	err error
}

// SendThenWait implements [evalsha.WaitingPipeline] on a connection of the node itself, where the driver
// follows no redirect. The scripts and WAIT take a round trip each, since within a pipeline the driver
// does not give WAIT the time that it may take.
func (d *driver) SendThenWait(
	ctx context.Context, cmds []evalsha.Command, replicas int, timeout time.Duration,
) []backend.Outcome {
	commands := newCommands(ctx, cmds, false)
	ctx, stop := bound(ctx, commands...)
	defer stop()
	ran := make(chan error, 1) // closed without a value by a panic
	acked := evalsha.Async(func() (a acks) {
		defer close(ran)
		node, err := d.primary(ctx, cmds[0].Keys[0])
		if err != nil {
			ran <- err
			return a
		}
		conn := node.Conn()
		defer func() { _ = conn.Close() }()
		exec(ctx, conn.Pipeline(), commands)
		ran <- nil
		return wait(ctx, conn, commands, replicas, timeout)
	})
	select {
	case err, ok := <-ran:
		if !ok {
			(<-acked).Get()
		}
		outcomes := outcomesOf(commands, err)
		d.reloadIfStale(outcomes)
		return withAcks(ctx, outcomes, acked)
	case <-ctx.Done():
		return abandoned(ctx, commands)
	}
}

// wait waits for replicas on the connection on which commands were sent, if one of them has a reply. If
// the connection is broken, it does not let the driver get another one.
func wait(ctx context.Context, conn *redis.Conn, commands []*command, replicas int, timeout time.Duration) (a acks) {
	replied := false
	for _, c := range commands {
		err := c.Err()
		if !c.replied(err) {
			return acks{err: err}
		}
		replied = replied || err == nil || errors.Is(err, redis.Nil)
	}
	if replied {
		// WAIT takes 0 ms for ever.
		a.n, a.err = conn.Wait(ctx, replicas, max(timeout, time.Millisecond)).Result()
	}
	return a
}

// withAcks adds the answer to WAIT to the outcomes of those commands that have replies.
func withAcks(ctx context.Context, outcomes []backend.Outcome, acked <-chan evalsha.Result[acks]) []backend.Outcome {
	var a acks
	select {
	case result := <-acked:
		a = result.Get()
	case <-ctx.Done():
		a.err = ctx.Err()
	}
	if a.err != nil {
		a.err = fmt.Errorf("%w: %w", backend.ErrReplicas, failure(a.err))
	}
	for i := range outcomes {
		if outcomes[i].Err == nil {
			outcomes[i].Acked, outcomes[i].Err = int(a.n), a.err
		}
	}
	return outcomes
}

// reloadIfStale makes the client look at the cluster again if a node may have been replaced, or a slot
// moved: on a connection of a node the client does not do that by itself.
func (d *driver) reloadIfStale(outcomes []backend.Outcome) {
	if d.cluster != nil && adapter.Stale(outcomes) {
		d.cluster.ReloadState(context.Background())
	}
}
