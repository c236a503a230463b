package rueidisbackend

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/adapter"
	"github.com/hasp-go/hasp/backend/evalsha"
)

// loadWithin bounds the loading of a script on one of all nodes, so a crashed one does not hold
// up the others.
const loadWithin = 2 * time.Second

// turnsEvery bounds how often a detour is looked for.
const turnsEvery = 100 * time.Millisecond

// errStranger is for a primary that the client has not met: it looks at the cluster again when a command is redirected.
var errStranger = errors.New("the client does not know this primary yet")

// driver implements [adapter.Driver].
//
// No command of it is marked read-only or retryable, so the client neither routes it to a
// replica (R8) nor sends it again (R3). All are marked for the shared pipeline, so a client
// made with DisableAutoPipelining stops waiting when ctx ends, too (R7).
type driver struct {
	client rueidis.Client
	pools  *pools
	slots  *slots // nil if there is one node

	detour  atomic.Pointer[dedicated] // nil: commands go by the client
	turning atomic.Bool               // a detour was just looked for
}

func (d *driver) Send(ctx context.Context, cmd evalsha.Command) (backend.Reply, error) {
	return unlessClosed(ctx, cmd.Claim, func(s *sending) (backend.Reply, error) {
		way := d.way()
		reply, err := s.outcome(way.Do(s, d.build(cmd)))
		d.turn(way, err)
		return reply, err
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
	way := d.way()
	for i, result := range way.DoMulti(s, built...) {
		outcomes[i].Reply, outcomes[i].Err = s.outcome(result)
	}
	d.turn(way, outcomes[0].Err)
	return outcomes
}

func (d *driver) Node(key string) string { return d.slots.known(key) }

func (d *driver) way() rueidis.CoreClient {
	if c := d.detour.Load(); c != nil {
		return c
	}
	return d.client
}

// turn has later commands go another way if the server of way is a replica, or the detour is broken. The client of a
// single server keeps its connections when its address leads to a new primary. A connection that is dialled now
// leads there. The client's own are tried again after keptFor.
func (d *driver) turn(way rueidis.CoreClient, err error) {
	switch c, _ := way.(*dedicated); {
	case errors.Is(err, errUnwritten) && c != nil:
		d.leave(c)
	case d.client.Mode() == rueidis.ClientModeStandalone && errors.Is(err, backend.ScriptError("READONLY")) &&
		d.turning.CompareAndSwap(false, true):
		time.AfterFunc(turnsEvery, func() { d.turning.Store(false) })
		evalsha.Async(func() struct{} { d.leave(c); d.enter(); return struct{}{} })
	}
}

// leave ends the detour c, if it has not ended.
func (d *driver) leave(c *dedicated) {
	if c != nil && d.detour.CompareAndSwap(c, nil) {
		go c.Close()
	}
}

func (d *driver) enter() {
	ctx, cancel := context.WithTimeout(context.Background(), loadWithin)
	defer cancel()
	if c, err := d.pools.take(ctx, onlyNode(d.client), d.client); err == nil {
		if old := d.detour.Swap(c); old != nil {
			go old.Close()
		}
		time.AfterFunc(keptFor, func() { d.leave(c) })
	}
}

// close closes the connections of the backend's own.
func (d *driver) close() {
	d.leave(d.detour.Load())
	d.pools.close()
}

// SendThenWait implements [evalsha.WaitingPipeline], in one round trip on a connection of its own, on
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
	conn, err := d.connect(s.Context, cmds[0].Keys[0])
	if err != nil {
		for i := range outcomes {
			outcomes[i].Err = evalsha.NotSent(err)
		}
		return outcomes
	}
	results := conn.DoMulti(s, d.buildThenWait(cmds, replicas, timeout)...)
	acked, waiting := s.acked(results[len(cmds)])
	for i := range outcomes {
		o := &outcomes[i]
		if o.Reply, o.Err = s.outcome(results[i]); o.Err == nil {
			o.Acked, o.Err = acked, waiting
		}
	}
	d.slots.forgetIfStale(outcomes)
	if waiting != nil { // The connection is broken, or its server is a replica, which refuses WAIT.
		d.pools.retire(conn)
	}
	d.pools.keep(conn)
	return outcomes
}

func (d *driver) connect(ctx context.Context, key string) (*dedicated, error) {
	node, client := "", d.client
	if d.slots == nil {
		node = onlyNode(client)
	} else {
		node = d.slots.known(key)
	}
	if c := d.pools.reuse(node); c != nil {
		return c, nil
	}
	if d.slots != nil {
		if client = client.Nodes()[node]; client == nil {
			node, client = "", d.client // This one dials while it sends, and takes keys of one slot only.
		}
	}
	c, err := d.pools.take(ctx, node, client)
	if err == nil && d.slots != nil && node == "" {
		d.pools.retire(c)
	}
	return c, err
}

// buildThenWait returns cmds and WAIT for a connection to the node of the first.
func (d *driver) buildThenWait(cmds []evalsha.Command, replicas int, timeout time.Duration) []rueidis.Completed {
	built := make([]rueidis.Completed, 0, len(cmds)+1)
	for _, cmd := range cmds {
		built = append(built, d.build(cmd).SetSlot(cmds[0].Keys[0])) // A connection takes one slot only.
	}
	ms := max(1, timeout.Milliseconds()) // WAIT takes 0 ms for ever.
	return append(built, d.client.B().Wait().Numreplicas(int64(replicas)).Timeout(ms).Build())
}

func (s *sending) acked(result rueidis.RedisResult) (int, error) {
	reply, err := s.outcome(result)
	var n int64
	if err == nil {
		n, err = reply.Int()
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", backend.ErrReplicas, err)
	}
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

func (d *driver) Load(ctx context.Context, script *backend.Script, key string) error {
	_, err := unlessClosed(ctx, nil, func(s *sending) (backend.Reply, error) {
		cmd := d.client.B().ScriptLoad().Script(script.Source).Build().SetSlot(key).ToPipe()
		return s.outcome(d.way().Do(s, cmd))
	})
	return err
}

// LoadAll implements [evalsha.Driver]. In a cluster it loads on replicas too, which does no harm.
func (d *driver) LoadAll(ctx context.Context, script *backend.Script) error {
	if d.slots == nil {
		return d.Load(ctx, script, "")
	}
	ctx, cancel := context.WithTimeout(ctx, loadWithin)
	defer cancel()
	return adapter.LoadAll(ctx, d.all, script)
}

// all returns all nodes, replicas included.
func (d *driver) all(ctx context.Context) (nodes []evalsha.Node, err error) {
	err = rueidis.ErrNoSlot
	for _, client := range d.slots.nodes(ctx) {
		nodes, err = append(nodes, d.nodeOf(client)), nil
	}
	return nodes, err
}

func (d *driver) Nodes(ctx context.Context) ([]evalsha.Node, error) {
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
