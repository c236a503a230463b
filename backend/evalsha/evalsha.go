// Package evalsha runs scripts over a driver by the runner clauses of package backend: by hash,
// loading what is missing (R2), at most once (R3), read-only ones apart (R8), single commands bare
// (R10). Adapters give it a [Driver]; what is left to them is how their driver sends one command.
//
// It is public because authors of other adapters need it too. Standard library only.
package evalsha

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// Driver is what a [Runner] needs of a driver. Each method must go to a primary, return promptly
// when ctx ends (R7), and make each error one of these: a [*backend.ServerError] for an error
// reply to the command; one made by [NotSent] if the command certainly never left, as where the server refuses to set
// the connection up (AUTH, SELECT), and which wraps [backend.ErrClosed] if it never will; one that wraps [backend.ErrReply] for a reply that is none
// of a script's; any other when nobody knows.
type Driver interface {
	// Send sends cmd once to the node that owns its keys, and must not send it again by itself.
	Send(ctx context.Context, cmd Command) (backend.Reply, error)

	// Load loads script by SCRIPT LOAD on the primary that owns key.
	Load(ctx context.Context, script *backend.Script, key string) error

	// LoadAll loads script on every primary.
	LoadAll(ctx context.Context, script *backend.Script) error
}

// Command is one command to send.
type Command struct {
	Name   string // EVALSHA, EVALSHA_RO, or the script's plain command
	Script *backend.Script
	Keys   []string
	Args   []string

	// Claim is taken. A driver that knows right before it writes may return it and take it again
	// then; without the claim it must not write.
	Claim *backend.Claim
}

// Words returns the command word by word, as the server gets it.
func (c Command) Words() []string {
	words := make([]string, 0, 3+len(c.Keys)+len(c.Args))
	words = append(words, c.Name)
	if c.Name != c.Script.Command {
		words = append(words, c.Script.SHA1, strconv.Itoa(len(c.Keys)))
	}
	return append(append(words, c.Keys...), c.Args...)
}

// NotSent marks err as proof that the command was never written to a connection, or that it could
// not be executed for another reason that the driver knows (R3).
func NotSent(err error) error { return &notSentError{err} }

type notSentError struct{ cause error }

func (e *notSentError) Error() string { return e.cause.Error() }
func (e *notSentError) Unwrap() error { return e.cause }

func isNotSent(err error) bool { return errors.As(err, new(*notSentError)) }

// Runner implements [backend.ScriptRunner] over a [Driver].
type Runner struct {
	driver     Driver
	cluster    bool
	refusedFor time.Duration
	closed     atomic.Bool
	plainRO    atomic.Bool // the server does not know EVALSHA_RO, or not rightly
}

// Options adjusts a [Runner]. The zero value, like nil, means the defaults.
type Options struct {
	// Cluster says that keys are spread over slots. Then the runner refuses keys of different slots.
	Cluster bool

	// RefusedFor is how long a command that the server or the network refuses is offered again, as it is while
	// a server restarts, a replica is promoted or a slot moves. Zero means 3 s. Negative means one try, as for
	// each script that is [backend.Script.FailFast].
	RefusedFor time.Duration

	_ struct{}
}

// New returns a runner over driver.
func New(driver Driver, opts *Options) *Runner {
	opts = cmp.Or(opts, new(Options))
	return &Runner{driver: driver, cluster: opts.Cluster, refusedFor: cmp.Or(opts.RefusedFor, defaultRefusedFor)}
}

// Close makes later calls fail with [backend.ErrClosed].
func (r *Runner) Close() { r.closed.Store(true) }

// Run implements [backend.ScriptRunner].
func (r *Runner) Run(ctx context.Context, script *backend.Script, keys, args []string) (backend.Reply, error) {
	if err := r.refuse(ctx, script, keys); err != nil {
		return backend.Reply{}, err
	}
	claim := backend.ClaimOf(ctx)
	send := func() (backend.Reply, error) {
		if !claim.Begin() {
			return backend.Reply{}, errWithdrawn
		}
		reply, err := r.driver.Send(ctx, r.callCommand(backend.Call{Script: script, Keys: keys, Args: args, Claim: claim}))
		unclaim(claim, err)
		return reply, err
	}
	reply, err := send()
	if err == nil {
		return reply, nil
	}
	return r.again(ctx, script, keys[0], err, send)
}

func (r *Runner) refuse(ctx context.Context, script *backend.Script, keys []string) error {
	switch {
	case r.closed.Load():
		return backend.ErrClosed
	case len(keys) == 0 || script.Keys >= 0 && len(keys) != script.Keys:
		return fmt.Errorf("script %s: wrong number of keys: %d", script.Name, len(keys))
	case r.cluster && len(keys) > 1:
		if err := backend.SameSlot(keys); err != nil {
			return fmt.Errorf("script %s: %w: %q", script.Name, err, keys)
		}
	}
	return ctx.Err()
}

func (r *Runner) command(script *backend.Script, keys, args []string) Command {
	name := "EVALSHA"
	switch {
	case script.Command != "":
		name = script.Command
	case script.Retry == backend.RetryReadOnly && !r.plainRO.Load():
		name = "EVALSHA_RO"
	}
	return Command{Name: name, Script: script, Keys: keys, Args: args}
}

// callCommand returns the command of a call that has a claim.
func (r *Runner) callCommand(call backend.Call) Command {
	cmd := r.command(call.Script, call.Keys, call.Args)
	cmd.Claim = call.Claim
	return cmd
}

func unknownCommand(err error) bool {
	var server *backend.ServerError
	return errors.As(err, &server) && strings.HasPrefix(server.Message, "unknown command")
}

// takesReadForWrite reports whether miniredis refused a script because it reads the clock, by the words that only
// miniredis has. Other scripts that it refuses so write.
func takesReadForWrite(err error, script *backend.Script) bool {
	return strings.Contains(err.Error(), "not allowed in read-only scripts") && strings.Contains(script.Source, "'time'")
}
