package goredisbackend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/evalsha"
)

// driver implements [evalsha.Driver].
type driver struct {
	client  redis.UniversalClient
	single  *redis.Client        // nil in a cluster
	cluster *redis.ClusterClient // nil if single
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
	if ctx.Done() == nil && cmd.Claim != nil { // Of a batch: its callers leave by themselves.
		return c.outcome(d.client.Process(ctx, c))
	}
	ctx, stop := bound(ctx, c)
	defer stop()
	err, ok := evalsha.Promptly(ctx, func() error { return d.client.Process(ctx, c) })
	if !ok {
		return backend.Reply{}, c.abandoned(ctx)
	}
	return c.outcome(err)
}

// SendAll implements [evalsha.Pipeline]. It leaves redirects to later sends: within a
// pipeline, the driver may take a command that was redirected, sent there and lost for one that was
// only redirected.
func (d *driver) SendAll(ctx context.Context, cmds []evalsha.Command) []backend.Outcome {
	commands := make([]*command, len(cmds))
	for i, cmd := range cmds {
		commands[i] = newCommand(ctx, cmd, d.cluster != nil)
	}
	ctx, stop := bound(ctx, commands...)
	defer stop()
	err, ok := evalsha.Promptly(ctx, func() error {
		return d.pipeline(ctx, cmds[0].Keys[0], commands)
	})
	outcomes := make([]backend.Outcome, len(cmds))
	for i, c := range commands {
		if ok {
			outcomes[i].Reply, outcomes[i].Err = c.outcome(cmp.Or(err, c.Err()))
		} else {
			outcomes[i].Err = c.abandoned(ctx)
		}
	}
	return outcomes
}

// pipeline sends commands to the primary that owns key. An error says that none was sent; else each
// command has its own.
func (d *driver) pipeline(ctx context.Context, key string, commands []*command) error {
	node, err := d.primary(ctx, key)
	if err != nil {
		return err
	}
	pipe := node.Pipeline()
	for _, c := range commands {
		_ = pipe.Process(ctx, c) // queues it
	}
	_, _ = pipe.Exec(ctx)
	return nil
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

// Load implements [evalsha.Driver].
func (d *driver) Load(ctx context.Context, script *backend.Script, key string) error {
	return promptError(ctx, func() error {
		node, err := d.primary(ctx, key)
		if err != nil {
			return err
		}
		return failure(node.ScriptLoad(ctx, script.Source).Err())
	})
}

// LoadAll implements [evalsha.Driver]. It fails if it could load nowhere: a node that is down has
// no slot that matters.
func (d *driver) LoadAll(ctx context.Context, script *backend.Script) error {
	if d.single != nil {
		return d.Load(ctx, script, "")
	}
	return promptError(ctx, func() error {
		errs := d.onPrimaries(ctx, func(node *redis.Client) error {
			return failure(node.ScriptLoad(ctx, script.Source).Err())
		})
		for _, err := range errs {
			if err == nil {
				return nil
			}
		}
		return errors.Join(errs...)
	})
}

// onPrimaries calls do on all primaries of the cluster, as it now is, side by side, and returns at
// least one error or nil.
func (d *driver) onPrimaries(ctx context.Context, do func(*redis.Client) error) []error {
	var mu sync.Mutex
	var results []evalsha.Result[error]
	err := d.cluster.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		result := evalsha.Catch(func() error { return do(node) }) // this goroutine is the driver's
		mu.Lock()
		defer mu.Unlock()
		results = append(results, result)
		return nil
	})
	if err != nil || len(results) == 0 {
		return []error{fmt.Errorf("no primary: %w", errors.Join(err, backend.ErrUnavailable))}
	}
	errs := make([]error, len(results))
	for i, result := range results {
		errs[i] = result.Get()
	}
	return errs
}

// sendThenWait sends cmd, then WAIT, on one connection of the node itself, where the driver
// follows no redirect. If the connection breaks in between, the driver does not get another.
func (d *driver) sendThenWait(
	ctx context.Context, cmd evalsha.Command, replicas int, timeout time.Duration,
) (backend.Reply, int, error) {
	c := newCommand(ctx, cmd, false)
	type acks struct {
		n   int64
		err error
	}
	ctx, stop := bound(ctx, c)
	defer stop()
	ran := make(chan error, 1) // closed without a value by a panic
	acked := evalsha.Async(func() (a acks) {
		defer close(ran)
		node, err := d.primary(ctx, cmd.Keys[0])
		if err != nil {
			ran <- err
			return a
		}
		conn := node.Conn()
		defer func() { _ = conn.Close() }()
		err = conn.Process(ctx, c)
		ran <- err
		if err == nil || errors.Is(err, redis.Nil) {
			// WAIT takes 0 ms for ever.
			a.n, a.err = conn.Wait(ctx, replicas, max(timeout, time.Millisecond)).Result()
		}
		return a
	})
	var reply backend.Reply
	select {
	case err, ok := <-ran:
		if !ok {
			(<-acked).Get()
		}
		if reply, err = c.outcome(err); err != nil {
			d.reloadIfMoved(err)
			return reply, 0, err
		}
	case <-ctx.Done():
		return reply, 0, c.abandoned(ctx)
	}
	select {
	case result := <-acked:
		a := result.Get()
		if a.err != nil {
			a.err = fmt.Errorf("%w: %w", backend.ErrReplicas, failure(a.err))
		}
		return reply, int(a.n), a.err
	case <-ctx.Done():
		return reply, 0, fmt.Errorf("%w: %w", backend.ErrReplicas, ctx.Err())
	}
}

// reloadIfMoved makes the client look at the cluster again if it did not know where a slot is.
func (d *driver) reloadIfMoved(err error) {
	var server *backend.ServerError
	if d.cluster != nil && errors.As(err, &server) && server.Code == "MOVED" {
		d.cluster.ReloadState(context.Background())
	}
}

// sharded decides by option, or by asking the primaries: those that answer must all know it.
func (d *driver) sharded(option backend.Sharding) (bool, error) {
	switch option {
	case backend.ShardedOn:
		return true, nil
	case backend.ShardedOff:
		return false, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), detectWithin)
	defer cancel()
	errs, ok := evalsha.Promptly(ctx, func() []error {
		return d.onPrimaries(ctx, func(node *redis.Client) error {
			return failure(node.PubSubShardNumSub(ctx).Err())
		})
	})
	if !ok {
		return false, ctx.Err()
	}
	var server *backend.ServerError
	known := false
	for _, err := range errs {
		if errors.As(err, &server) && server.Code == "ERR" {
			return false, nil // the subcommand is unknown
		}
		known = known || err == nil
	}
	if known {
		return true, nil
	}
	return false, errors.Join(errs...)
}
