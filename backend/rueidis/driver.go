package rueidisbackend

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/evalsha"
)

// loadWithin bounds the loading of a script on one of all nodes, so a crashed one does not hold
// up the others.
const loadWithin = 2 * time.Second

// driver implements [evalsha.Driver].
//
// No command of it is marked read-only or retryable, so the client neither routes it to a
// replica (R8) nor sends it again (R3). All are marked for the shared pipeline, so a client
// made with DisableAutoPipelining stops waiting when ctx ends, too (R7).
type driver struct {
	client rueidis.Client
	pools  *pools
	slots  *slots // nil if there is one node
}

// Send implements [evalsha.Driver].
func (d *driver) Send(ctx context.Context, cmd evalsha.Command) (backend.Reply, error) {
	return unlessClosed(ctx, cmd.Claim, func(s *sending) (backend.Reply, error) {
		return s.outcome(d.client.Do(s, d.build(cmd)))
	})
}

// SendAll implements [evalsha.Pipeline].
func (d *driver) SendAll(ctx context.Context, cmds []evalsha.Command) []backend.Outcome {
	built := make([]rueidis.Completed, len(cmds))
	for i, cmd := range cmds {
		built[i] = d.build(cmd)
	}
	s := several(ctx, cmds)
	outcomes := make([]backend.Outcome, len(cmds))
	for i, result := range d.client.DoMulti(s, built...) {
		outcomes[i].Reply, outcomes[i].Err = s.outcome(result)
	}
	return outcomes
}

// Node implements [evalsha.Pipeline].
func (d *driver) Node(key string) string { return d.slots.known(key) }

// sendThenWait sends cmd and WAIT on one connection, on which the client follows no redirect.
func (d *driver) sendThenWait(
	ctx context.Context, cmd evalsha.Command, replicas int, timeout time.Duration,
) (reply backend.Reply, acked int, err error) {
	reply, err = unlessClosed(ctx, cmd.Claim, func(s *sending) (reply backend.Reply, err error) {
		// WAIT takes 0 ms for ever.
		ms := max(1, timeout.Milliseconds())
		wait := d.client.B().Wait().Numreplicas(int64(replicas)).Timeout(ms).Build()
		reply, acked, err = d.sendBoth(s, d.build(cmd), wait)
		return reply, err
	})
	return reply, acked, err
}

// sendBoth sends cmd and wait on a connection out of the pool.
func (d *driver) sendBoth(s *sending, cmd, wait rueidis.Completed) (backend.Reply, int, error) {
	conn, release, err := d.pools.take(s.Context, "", d.client)
	if err != nil {
		return backend.Reply{}, 0, evalsha.NotSent(err)
	}
	results := conn.DoMulti(s, cmd, wait)
	if results[0].NonRedisError() != nil || results[1].NonRedisError() != nil {
		release = conn.Close
	}
	go release() // both may wait for the server
	reply, err := s.outcome(results[0])
	if err != nil {
		return reply, 0, err
	}
	acked, err := s.outcome(results[1])
	if err != nil {
		return reply, 0, fmt.Errorf("%w: %w", backend.ErrReplicas, err)
	}
	n, err := acked.Int()
	return reply, int(n), err
}

// build returns cmd for the client, bound to the slot of its first key. The builder does not see
// the keys, because it panics on keys of different slots; the server refuses those (R1).
func (d *driver) build(cmd evalsha.Command) rueidis.Completed {
	words := d.client.B().Arbitrary(cmd.Name)
	if cmd.Name != cmd.Script.Command {
		words = words.Args(cmd.Script.SHA1, strconv.Itoa(len(cmd.Keys)))
	}
	return words.Args(cmd.Keys...).Args(cmd.Args...).Build().SetSlot(cmd.Keys[0]).ToPipe()
}

// Load implements [evalsha.Driver].
func (d *driver) Load(ctx context.Context, script *backend.Script, key string) error {
	_, err := unlessClosed(ctx, nil, func(s *sending) (backend.Reply, error) {
		cmd := d.client.B().ScriptLoad().Script(script.Source).Build().SetSlot(key).ToPipe()
		return s.outcome(d.client.Do(s, cmd))
	})
	return err
}

// LoadAll implements [evalsha.Driver]. It loads on replicas too, which does no harm, and fails if
// it could load nowhere: a node that is down has no slot that matters.
func (d *driver) LoadAll(ctx context.Context, script *backend.Script) error {
	ctx, cancel := context.WithTimeout(ctx, loadWithin)
	defer cancel()
	var loads []<-chan evalsha.Result[error]
	for _, node := range d.client.Nodes() {
		loads = append(loads, evalsha.Async(func() error {
			s := &sending{Context: ctx}
			cmd := node.B().ScriptLoad().Script(script.Source).Build().ToPipe()
			_, err := s.outcome(node.Do(s, cmd))
			return err
		}))
	}
	loaded, err := false, rueidis.ErrNoSlot
	for _, load := range loads {
		err = (<-load).Get()
		loaded = loaded || err == nil
	}
	if loaded {
		return nil
	}
	return err
}
