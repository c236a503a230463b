package rueidisbackend

import (
	"context"
	"errors"
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

// errStranger is for a primary that the client has not met: it looks at the cluster again when a command is redirected.
var errStranger = errors.New("the client does not know this primary yet")

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

// learn asks the cluster which node has which slots, if that was never known, before calls are sent to
// each: by themselves they would need a connection each.
func (d *driver) learn(ctx context.Context, calls []backend.Call) {
	if d.slots != nil && len(calls) > 1 && d.slots.unknown() {
		_, _ = d.slots.current(ctx)
	}
}

// SendThenWait implements [evalsha.WaitingPipeline], in one round trip on a connection out of the pool, on
// which the client follows no redirect.
func (d *driver) SendThenWait(
	ctx context.Context, cmds []evalsha.Command, replicas int, timeout time.Duration,
) []backend.Outcome {
	if len(cmds) > 1 {
		return d.sendThenWait(several(ctx, cmds), cmds, replicas, timeout)
	}
	outcome, err := unlessClosed(ctx, cmds[0].Claim, func(s *sending) (backend.Outcome, error) {
		outcome := d.sendThenWait(s, cmds, replicas, timeout)[0]
		return outcome, outcome.Err
	})
	outcome.Err = err
	return []backend.Outcome{outcome}
}

func (d *driver) sendThenWait(
	s *sending, cmds []evalsha.Command, replicas int, timeout time.Duration,
) []backend.Outcome {
	outcomes := make([]backend.Outcome, len(cmds))
	conn, release, err := d.pools.take(s.Context, "", d.client)
	if err != nil {
		for i := range outcomes {
			outcomes[i].Err = evalsha.NotSent(err)
		}
		return outcomes
	}
	results := conn.DoMulti(s, d.buildThenWait(cmds, replicas, timeout)...)
	for _, result := range results {
		if result.NonRedisError() != nil {
			release = conn.Close
		}
	}
	go release() // both may wait for the server
	acked, waiting := s.acked(results[len(cmds)])
	for i := range outcomes {
		o := &outcomes[i]
		if o.Reply, o.Err = s.outcome(results[i]); o.Err == nil {
			o.Acked, o.Err = acked, waiting
		}
	}
	d.slots.forgetIfStale(outcomes)
	return outcomes
}

// buildThenWait returns cmds and WAIT for a connection to the node of the first.
func (d *driver) buildThenWait(
	cmds []evalsha.Command, replicas int, timeout time.Duration,
) []rueidis.Completed {
	built := make([]rueidis.Completed, 0, len(cmds)+1)
	for _, cmd := range cmds {
		built = append(built, d.build(cmd).SetSlot(cmds[0].Keys[0])) // A connection takes one slot only.
	}
	ms := max(1, timeout.Milliseconds()) // WAIT takes 0 ms for ever.
	return append(built, d.client.B().Wait().Numreplicas(int64(replicas)).Timeout(ms).Build())
}

// acked returns the answer to WAIT.
func (s *sending) acked(result rueidis.RedisResult) (int, error) {
	reply, err := s.outcome(result)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", backend.ErrReplicas, err)
	}
	n, err := reply.Int()
	return int(n), err
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

// primaries returns all primaries, for [evalsha.Runner.Scan].
func (d *driver) primaries(ctx context.Context) ([]evalsha.Node, error) {
	if d.slots == nil {
		return []evalsha.Node{d.Send}, nil
	}
	d.slots.forget()
	ranges, err := d.slots.current(ctx)
	if err != nil {
		return nil, evalsha.NotSent(err)
	}
	var nodes []evalsha.Node
	seen, clients := map[string]bool{}, d.client.Nodes()
	for _, r := range ranges {
		if seen[r.primary] {
			continue
		}
		seen[r.primary] = true
		client := clients[r.primary]
		if client == nil {
			return nil, evalsha.NotSent(fmt.Errorf("%s: %w", r.primary, errStranger))
		}
		nodes = append(nodes, d.nodeOf(client))
	}
	return nodes, nil
}

func (d *driver) nodeOf(client rueidis.Client) evalsha.Node {
	return func(ctx context.Context, cmd evalsha.Command) (backend.Reply, error) {
		return unlessClosed(ctx, cmd.Claim, func(s *sending) (backend.Reply, error) {
			return s.outcome(client.Do(s, d.build(cmd)))
		})
	}
}
