package goredisbackend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/evalsha"
)

// command is a [redis.Cmder] that the driver sends at most once.
type command struct {
	redis.Cmd
	claim   *backend.Claim // free until the command is written
	cluster bool
	state   atomic.Int32
	reply   error // what came of the last reply that the driver has read; nil: a value, or there was none
}

// unread is a command's value until the driver reads a reply, which replaces it even if that is null or an error.
const unread = unreadReply("no reply yet")

type unreadReply string

// The states of a command. It leaves pending once.
const (
	pending int32 = iota
	taken         // its words were asked for: it may have been written
	revoked       // it must not be written any more
)

func newCommand(ctx context.Context, cmd evalsha.Command, cluster bool) *command {
	args := make([]any, 0, 3+len(cmd.Keys)+len(cmd.Args))
	if args = append(args, cmd.Name); cmd.Name != cmd.Script.Command {
		args = append(args, cmd.Script.SHA1, len(cmd.Keys))
	}
	first := len(args)
	for _, key := range cmd.Keys {
		args = append(args, key)
	}
	for _, arg := range cmd.Args {
		args = append(args, arg)
	}
	cmd.Claim.NotSent(nil)
	c := &command{Cmd: *redis.NewCmd(ctx, args...), claim: cmd.Claim, cluster: cluster}
	// A cluster client routes by the key, and looks up the step count if there is none.
	c.SetFirstKeyPos(int8(first))
	c.SetStepCount(1)
	c.SetVal(unread)
	return c
}

func newCommands(ctx context.Context, cmds []evalsha.Command, cluster bool) []*command {
	commands := make([]*command, len(cmds))
	for i, cmd := range cmds {
		commands[i] = newCommand(ctx, cmd, cluster)
	}
	return commands
}

// NoRetry keeps the driver from sending the command again after it may have run (R3). It follows
// redirects all the same.
func (c *command) NoRetry() bool { return true }

// Name is what a cluster client routes by. As an EVALSHA, a command goes to the primary of its
// first key: neither to a replica (R8) nor, in parts, to many nodes.
func (c *command) Name() string {
	if c.cluster {
		return "evalsha"
	}
	return c.Cmd.Name()
}

// SetErr ends a try of the driver. After an error there may be another, at a node that a redirect names.
func (c *command) SetErr(err error) {
	if c.Val() != unread {
		c.reply = err
	}
	if err != nil {
		c.SetVal(unread)
	}
	c.Cmd.SetErr(err)
}

// replied reports whether err, or nil, is the server's reply to c. An error reply to what sets up c's connection, such
// as AUTH or SELECT, is not.
func (c *command) replied(err error) bool {
	if err == nil {
		return c.Val() != unread
	}
	return isReply(err) && errors.Is(err, c.reply)
}

// Args returns the words to write. The driver asks for them right before it writes; a cluster
// client asks when it looks for the node, too.
func (c *command) Args() []any {
	if c.state.Load() == pending && !c.claim.Begin() {
		c.revoke()
	}
	if !c.state.CompareAndSwap(pending, taken) && c.state.Load() == revoked {
		return []any{"ping"}
	}
	return c.Cmd.Args()
}

// revoke sees to it that the command is not written any more, and reports false if it is too late.
// The driver, should it come to write it, writes a PING.
func (c *command) revoke() bool {
	return c.state.CompareAndSwap(pending, revoked) || c.state.Load() == revoked
}

// beginWithin bounds how long the driver may look for a connection to write commands to. By itself
// it looks for as long as its options and their retries ask for: 20 s and more, where nothing
// answers.
const beginWithin = 5 * time.Second

var (
	errNotBegun = fmt.Errorf("no connection within %s", beginWithin)
	errNoReply  = errors.New("the client gave neither a reply nor an error")
)

// bound returns a context that ends with ctx, and if the driver has not come to write any of
// commands within beginWithin; they are then revoked. The caller calls stop when they have ended. A
// cluster client that routes a command asks for its words before it has a connection: there the
// driver's own bounds apply.
func bound(ctx context.Context, commands ...*command) (bounded context.Context, stop func()) {
	bounded, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(beginWithin, func() {
		begun := false
		for _, c := range commands {
			begun = !c.revoke() || begun
		}
		if !begun {
			cancel(errNotBegun)
		}
	})
	return bounded, func() { timer.Stop(); cancel(nil) }
}

// outcome returns the reply, or err by the classes of [evalsha.Driver].
func (c *command) outcome(err error) (backend.Reply, error) {
	switch replied := c.replied(err); {
	case c.state.Load() == revoked: // neither err nor the reply is this command's
		err = evalsha.NotSent(errNotBegun)
	case replied && err == nil:
		return convert(c.Val())
	case replied && errors.Is(err, redis.Nil):
		return backend.Reply{}, nil
	case !replied && isReply(err):
		err = evalsha.NotSent(fmt.Errorf("the server refused the connection: %w", err))
	case neverWritten(err), !replied && c.state.Load() == pending:
		err = evalsha.NotSent(failure(cmp.Or(err, errNoReply)))
	default:
		err = failure(cmp.Or(err, errNoReply))
	}
	return backend.Reply{}, err
}

// abandoned returns the outcome when ctx, which may be of bound, has ended before the driver's, or is about to.
func (c *command) abandoned(ctx context.Context) error {
	err := cmp.Or(ctx.Err(), context.DeadlineExceeded)
	if cause := context.Cause(ctx); errors.Is(cause, errNotBegun) {
		err = cause
	}
	if c.revoke() {
		return evalsha.NotSent(err)
	}
	return err
}

// outcomesOf returns the outcomes of commands. An error says that none was sent.
func outcomesOf(commands []*command, err error) []backend.Outcome {
	outcomes := make([]backend.Outcome, len(commands))
	for i, c := range commands {
		outcomes[i].Reply, outcomes[i].Err = c.outcome(cmp.Or(err, c.Err()))
	}
	return outcomes
}

// abandoned returns the outcomes of commands when ctx has ended before the driver's.
func abandoned(ctx context.Context, commands []*command) []backend.Outcome {
	outcomes := make([]backend.Outcome, len(commands))
	for i, c := range commands {
		outcomes[i].Err = c.abandoned(ctx)
	}
	return outcomes
}
