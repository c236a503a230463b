package rueidisbackend

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/evalsha"
)

// loadWithin bounds the loading of a script on one of all nodes, so that a dead one does not hold
// up the others.
const loadWithin = 2 * time.Second

// driver implements [evalsha.Driver].
//
// No command of it is marked read-only or retryable, so that the client neither routes it to a
// replica (R8) nor sends it again (R3). All are marked for the shared pipeline, so that a client
// made with DisableAutoPipelining stops waiting when ctx ends, too (R7).
type driver struct{ client rueidis.Client }

// Send implements [evalsha.Driver].
func (d *driver) Send(ctx context.Context, cmd evalsha.Command) (backend.Reply, error) {
	s := &sending{Context: ctx}
	return s.outcome(d.client.Do(s, d.build(cmd)))
}

// sendAll sends cmds in one round trip to each node.
func (d *driver) sendAll(ctx context.Context, cmds []evalsha.Command) []backend.Outcome {
	built := make([]rueidis.Completed, len(cmds))
	for i, cmd := range cmds {
		built[i] = d.build(cmd)
	}
	s := &sending{Context: ctx}
	outcomes := make([]backend.Outcome, len(cmds))
	for i, result := range d.client.DoMulti(s, built...) {
		outcomes[i].Reply, outcomes[i].Err = s.outcome(result)
	}
	return outcomes
}

// sendThenWait sends cmd and WAIT on one connection, on which the client follows no redirect.
func (d *driver) sendThenWait(
	ctx context.Context, cmd evalsha.Command, replicas int, timeout time.Duration,
) (backend.Reply, int, error) {
	conn, release, err := dedicate(ctx, d.client)
	if err != nil {
		return backend.Reply{}, 0, evalsha.NotSent(err)
	}
	// WAIT takes 0 ms for ever.
	ms := max(1, timeout.Milliseconds())
	wait := d.client.B().Wait().Numreplicas(int64(replicas)).Timeout(ms).Build()
	s := &sending{Context: ctx}
	results := conn.DoMulti(s, d.build(cmd), wait)
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
	s := &sending{Context: ctx}
	cmd := d.client.B().ScriptLoad().Script(script.Source).Build().SetSlot(key).ToPipe()
	_, err := s.outcome(d.client.Do(s, cmd))
	return err
}

// LoadAll implements [evalsha.Driver]. It loads on replicas too, which does no harm, and fails if
// it could load nowhere: a node that is down has no slot that matters.
func (d *driver) LoadAll(ctx context.Context, script *backend.Script) error {
	ctx, cancel := context.WithTimeout(ctx, loadWithin)
	defer cancel()
	var (
		nodes   = d.client.Nodes()
		loading sync.WaitGroup
		errs    = make(chan error, len(nodes))
	)
	for _, node := range nodes {
		loading.Go(func() {
			s := &sending{Context: ctx}
			cmd := node.B().ScriptLoad().Script(script.Source).Build().ToPipe()
			_, err := s.outcome(node.Do(s, cmd))
			errs <- err
		})
	}
	loading.Wait()
	close(errs)
	err := rueidis.ErrNoSlot
	for err = range errs {
		if err == nil {
			return nil
		}
	}
	return err
}

// dedicate takes a connection out of client's pool, and returns what gives it back. The client's
// own function knows no context, and may block for long: on a pool that is used up, or dialing.
func dedicate(
	ctx context.Context, client rueidis.Client,
) (conn rueidis.DedicatedClient, release func(), err error) {
	type dedicated struct {
		conn    rueidis.DedicatedClient
		release func()
	}
	got := make(chan dedicated, 1)
	go func() {
		conn, release := client.Dedicate()
		got <- dedicated{conn, release}
	}()
	select {
	case d := <-got:
		return d.conn, d.release, nil
	case <-ctx.Done():
		go func() { (<-got).conn.Close() }()
		return nil, nil, ctx.Err()
	}
}
