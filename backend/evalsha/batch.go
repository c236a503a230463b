package evalsha

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// Pipeline is a [Driver] that can send many commands in one round trip.
type Pipeline interface {
	Driver

	// SendAll sends each of cmds once to the node that owns the keys of the first, in one round trip,
	// and returns their outcomes in order, by the classes of [Driver]. ctx does not end.
	SendAll(ctx context.Context, cmds []Command) []backend.Outcome

	// Node names the primary that owns key, as far as the driver knows without asking a server, or
	// returns "". It is asked in a cluster only. A wrong name costs a redirect.
	Node(key string) string
}

// silentAfter is how long after its time-out a WAIT may be answered. Without an answer the connection is silent,
// and nothing else would end the call: drivers give a WAIT all the time that it takes.
const silentAfter = 3 * time.Second

var errSilent = fmt.Errorf("no answer within %s after the time-out of WAIT", silentAfter)

// WaitingPipeline is a [Pipeline] that can wait for replicas.
type WaitingPipeline interface {
	Pipeline

	// SendThenWait sends each of cmds once, and then one WAIT, on one connection to the node that owns the
	// keys of the first. It follows no redirect. It returns the outcomes in order, by the classes of
	// [Driver], with the number of replicas. If WAIT failed, an outcome with a reply has an error that
	// wraps [backend.ErrReplicas]. SendThenWait returns promptly when ctx ends.
	SendThenWait(
		ctx context.Context, cmds []Command, replicas int, timeout time.Duration,
	) []backend.Outcome
}

// RunBatch runs calls through driver, the runner's own driver, in one round trip to each node,
// side by side. A script that the node lacks is loaded once for all calls, which are then sent once
// more; others that may be sent again go by themselves. Where ctx ends nothing more is sent, but the
// driver sees a context that does not end: what makes it return at once costs goroutines in some
// drivers, and callers of RunBatch do not wait for it. Only a command that is sent alone keeps ctx if that has
// a deadline. It serves adapters that implement [backend.Batcher].
func (r *Runner) RunBatch(
	ctx context.Context, driver Pipeline, calls []backend.Call,
	report func(place int, outcome backend.Outcome),
) {
	if len(calls) == 1 {
		r.runOnly(ctx, driver, calls, report)
		return
	}
	b := batch{runner: r, driver: driver, calls: calls, report: report}
	b.runAll(ctx)
}

// RunThenWait runs calls as RunBatch does, and has the calls that are sent to a node together followed
// by a WAIT. Unlike RunBatch it returns promptly when ctx ends, and gives a sending up that has no answer 3 s after the
// WAIT's time-out. It serves adapters that implement [backend.ReplicaWaiter].
func (r *Runner) RunThenWait(
	ctx context.Context, driver WaitingPipeline, calls []backend.Call,
	replicas int, timeout time.Duration, report func(place int, outcome backend.Outcome),
) {
	b := batch{
		runner: r, driver: driver, calls: calls, report: report,
		waiting: driver, replicas: replicas, timeout: timeout,
	}
	b.runAll(ctx)
}

// batch is one RunBatch or RunThenWait at work. Calls are known by their place in it.
type batch struct {
	runner *Runner
	driver Pipeline
	calls  []backend.Call
	report func(place int, outcome backend.Outcome)

	waiting  WaitingPipeline // nil: the batch does not wait for replicas
	replicas int
	timeout  time.Duration
}

func (b *batch) runAll(ctx context.Context) {
	groups := b.groups(ctx)
	Together(len(groups), func(i int) { b.run(ctx, groups[i]) })
}

// runOnly runs the only call. It makes a batch only if the first try fails.
func (r *Runner) runOnly(
	ctx context.Context, driver Pipeline, calls []backend.Call,
	report func(place int, outcome backend.Outcome),
) {
	call := calls[0]
	if err := r.refuse(ctx, call.Script, call.Keys); err != nil {
		report(0, backend.Outcome{Err: err})
		return
	}
	reply, err := driver.Send(deadlineOf(ctx), r.callCommand(call))
	if err == nil {
		report(0, backend.Outcome{Reply: reply})
		return
	}
	unclaim(call.Claim, err)
	b := batch{runner: r, driver: driver, calls: calls, report: report}
	b.settle(ctx, failure{0, err})
}

// deadlineOf returns ctx if it has a deadline, at which a driver that declares [backend.Capabilities].Deadlines
// returns, and else a context that does not end.
func deadlineOf(ctx context.Context) context.Context {
	if _, ok := ctx.Deadline(); ok {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// groups returns the places of the calls for each node, less those that must not be sent.
func (b *batch) groups(ctx context.Context) [][]int {
	accepted := b.accepted(ctx)
	if !b.runner.cluster && len(accepted) > 0 {
		return [][]int{accepted}
	}
	var groups [][]int
	number := map[string]int{} // of each node's group
	for _, place := range accepted {
		node := b.node(b.calls[place].Keys[0])
		i, known := number[node]
		if !known {
			i = len(groups)
			number[node] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], place)
	}
	return groups
}

// accepted returns the places of the calls that may be sent.
func (b *batch) accepted(ctx context.Context) []int {
	places := make([]int, 0, len(b.calls))
	for place, call := range b.calls {
		if err := b.runner.refuse(ctx, call.Script, call.Keys); err != nil {
			b.report(place, backend.Outcome{Err: err})
			continue
		}
		places = append(places, place)
	}
	return places
}

// node names the node that owns key, or, if nobody knows, its slot: one slot is on one node.
func (b *batch) node(key string) string {
	if node := b.driver.Node(key); node != "" {
		return node
	}
	return "slot " + strconv.Itoa(backend.Slot(key))
}

// failure is a call that had no reply, or an error.
type failure struct {
	place int
	err   error
}

// run runs the calls at places, which are for one node.
func (b *batch) run(ctx context.Context, places []int) {
	missing, failed := b.try(ctx, places)
	Together(len(failed)+1, func(i int) {
		if i == len(failed) {
			b.reload(ctx, missing)
			return
		}
		b.settle(ctx, failed[i])
	})
}

// try sends the calls at places and reports the replies. It returns what failed because the node
// lacks the script, and what else failed.
func (b *batch) try(ctx context.Context, places []int) (missing, failed []failure) {
	for i, outcome := range b.send(ctx, places) {
		place := places[i]
		unclaim(b.calls[place].Claim, outcome.Err)
		switch {
		case ran(outcome.Err):
			b.report(place, outcome)
		case noScript(outcome.Err) && b.calls[place].Script.Command == "":
			missing = append(missing, failure{place, outcome.Err})
		default:
			failed = append(failed, failure{place, outcome.Err})
		}
	}
	return missing, failed
}

func (b *batch) send(ctx context.Context, places []int) []backend.Outcome {
	switch {
	case len(places) == 0: // All were withdrawn.
		return nil
	case len(places) == 1 && b.waiting == nil:
		reply, err := b.driver.Send(deadlineOf(ctx), b.command(places[0]))
		return []backend.Outcome{{Reply: reply, Err: err}}
	case b.waiting == nil:
		ctx = context.WithoutCancel(ctx)
	}
	commands := make([]Command, len(places))
	for i, place := range places {
		commands[i] = b.command(place)
	}
	if b.waiting == nil {
		return b.driver.SendAll(ctx, commands)
	}
	return b.sendThenWait(ctx, commands)
}

func (b *batch) sendThenWait(ctx context.Context, commands []Command) []backend.Outcome {
	limited, stop := context.WithTimeout(ctx, b.timeout+silentAfter)
	defer stop()
	outcomes := b.waiting.SendThenWait(limited, commands, b.replicas, b.timeout)
	for i, o := range outcomes {
		switch {
		case errors.Is(o.Err, backend.ErrReplicas) && unknownCommand(o.Err):
			outcomes[i].Err = fmt.Errorf("%w: %w", backend.ErrNotSupported, o.Err)
		case errors.Is(o.Err, context.DeadlineExceeded) && ctx.Err() == nil:
			outcomes[i].Err = silence(o.Err)
		}
	}
	return outcomes
}

// silence returns err, the error of a context, as one that says nothing of the caller's context.
func silence(err error) error {
	switch {
	case isNotSent(err):
		return NotSent(errSilent)
	case ran(err):
		return fmt.Errorf("%w: %w", backend.ErrReplicas, errSilent)
	}
	return errSilent
}

// ran reports whether a script whose outcome has err ran: err is nil, or says that the WAIT after it failed.
func ran(err error) bool { return err == nil || errors.Is(err, backend.ErrReplicas) }

func (b *batch) command(place int) Command { return b.runner.callCommand(b.calls[place]) }

// unclaim returns the claim of a call that certainly was not executed, until it is sent again (B2).
func unclaim(claim *backend.Claim, err error) {
	if ran(err) || isUnknown(err) || backend.MayHaveRun(err) {
		return
	}
	if unavailable(err) {
		err = fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	claim.NotSent(err)
}

// reload loads the scripts of missing, each once, and sends these calls again. Where that is not
// enough, as while a slot moves, each call goes on by itself.
func (b *batch) reload(ctx context.Context, missing []failure) {
	if len(missing) > 1 && b.load(ctx, missing) {
		again, failed := b.try(ctx, b.claimed(missing))
		missing = append(again, failed...)
	}
	Together(len(missing), func(i int) { b.settle(ctx, missing[i]) })
}

// claimed takes the claims of calls that failed, and returns their places. It reports those calls
// whose callers have left.
func (b *batch) claimed(failed []failure) []int {
	places := make([]int, 0, len(failed))
	for _, f := range failed {
		if b.calls[f.place].Claim.Begin() {
			places = append(places, f.place)
		} else {
			b.report(f.place, backend.Outcome{Err: errWithdrawn})
		}
	}
	return places
}

// load reports whether all scripts of missing are loaded now, on the node of these calls.
func (b *batch) load(ctx context.Context, missing []failure) bool {
	loaded := map[*backend.Script]bool{}
	for _, f := range missing {
		call := b.calls[f.place]
		if loaded[call.Script] {
			continue
		}
		if b.driver.Load(ctx, call.Script, call.Keys[0]) != nil {
			return false
		}
		loaded[call.Script] = true
	}
	return ctx.Err() == nil
}

// settle runs a failed call again as far as that is allowed, and reports the outcome.
func (b *batch) settle(ctx context.Context, f failure) {
	call := b.calls[f.place]
	outcome := backend.Outcome{}
	_, err := b.runner.again(ctx, call.Script, call.Keys[0], f.err,
		func() (backend.Reply, error) {
			if !call.Claim.Begin() {
				return backend.Reply{}, errWithdrawn
			}
			outcome = b.send(ctx, []int{f.place})[0]
			unclaim(call.Claim, outcome.Err)
			if ran(outcome.Err) {
				return outcome.Reply, nil
			}
			return backend.Reply{}, outcome.Err
		})
	if err != nil {
		outcome = backend.Outcome{Err: err}
	}
	b.report(f.place, outcome)
}

// errWithdrawn is the outcome of a call that was not sent again because its caller had left.
var errWithdrawn = NotSent(fmt.Errorf("%w: the call was withdrawn", context.Canceled))

func noScript(err error) bool { return errors.Is(err, backend.ScriptError("NOSCRIPT")) }
