package evalsha

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
)

const (
	// defaultRefusedFor is the default of [Options.RefusedFor]: long enough for a slot to move or a replica to be
	// promoted after its election, short enough that a caller without a deadline learns of a server that is
	// down.
	defaultRefusedFor = 3 * time.Second

	// unknownTries bounds how often a script that may be repeated is sent after losing replies.
	unknownTries = 2

	firstPause = 5 * time.Millisecond
	mostPause  = 250 * time.Millisecond
)

// again decides what follows a failed send, and returns the final outcome. It sends again what
// R2, R3 and R8 allow, within ctx and the bounds above.
func (r *Runner) again(
	ctx context.Context, script *backend.Script, key string, err error,
	send func() (backend.Reply, error),
) (backend.Reply, error) {
	f := failures{runner: r, script: script, key: key, pause: firstPause, since: time.Now()}
	for f.mayRetry(ctx, err) {
		var reply backend.Reply
		if reply, err = send(); err == nil {
			return reply, nil
		}
	}
	return backend.Reply{}, f.outcome(ctx, err)
}

// failures counts what went wrong with one call so far.
type failures struct {
	runner  *Runner
	script  *backend.Script
	key     string
	since   time.Time
	pause   time.Duration
	missing int   // NOSCRIPT replies
	unnamed int   // "unknown command" replies
	unknown int   // lost replies
	refused int   // times that the server or the network refused the command
	loading error // why the script could not be loaded
}

// mayRetry reports whether there may be another try after err, and prepares it by loading or
// pausing.
func (f *failures) mayRetry(ctx context.Context, err error) bool {
	var server *backend.ServerError
	isServer := errors.As(err, &server)
	switch {
	case f.runner.closed.Load(), errors.Is(err, backend.ErrClosed), errors.Is(err, backend.ErrReply),
		errors.Is(err, errWithdrawn):
		return false
	case noScript(err) && f.script.Command == "":
		return f.load(ctx)
	case (unknownCommand(err) || takesReadForWrite(err, f.script)) && f.script.Retry == backend.RetryReadOnly &&
		f.script.Command == "":
		f.runner.plainRO.Store(true)
		f.unnamed++
		return f.unnamed == 1
	case isServer && backend.NotExecuted(server.Code), isNotSent(err):
		return f.offersAgain(err) && f.rest(ctx)
	case isServer || f.script.Retry == backend.RetryNever:
		return false
	}
	f.unknown++
	return f.unknown <= unknownTries && f.rest(ctx)
}

// offersAgain reports whether a refused command may be offered again. A redirect needs one more try,
// since a command that is sent with others is not redirected.
func (f *failures) offersAgain(err error) bool {
	f.refused++
	if f.script.FailFast || f.runner.refusedFor < 0 {
		return f.refused == 1 &&
			(errors.Is(err, backend.ScriptError("MOVED")) || errors.Is(err, backend.ScriptError("ASK")))
	}
	return time.Since(f.since) <= f.runner.refusedFor
}

// load loads the missing script, first where its key is, then everywhere, then no more, and
// reports whether to go on. A load that failed for a reason that may pass is as good as the next.
func (f *failures) load(ctx context.Context) bool {
	f.missing++
	switch f.missing {
	case 1:
		f.loading = f.runner.driver.Load(ctx, f.script, f.key)
	case 2:
		f.loading = f.runner.driver.LoadAll(ctx, f.script)
	default:
		return false
	}
	var server *backend.ServerError
	switch {
	case f.loading == nil:
		return ctx.Err() == nil
	case errors.As(f.loading, &server) && !backend.NotExecuted(server.Code):
		return false
	}
	return f.rest(ctx)
}

// rest waits before the next try, and reports whether ctx still lasts.
func (f *failures) rest(ctx context.Context) bool {
	select {
	case <-time.After(f.pause):
	case <-ctx.Done():
	}
	f.pause = min(2*f.pause, mostPause)
	return ctx.Err() == nil
}

// outcome is the error that the caller gets when there is no other try after err.
func (f *failures) outcome(ctx context.Context, err error) error {
	if f.loading != nil {
		err = fmt.Errorf("%w (loading it: %v)", err, f.loading)
	}
	for _, lacking := range []error{backend.ErrNotSupported, backend.ErrNoPermission} {
		if errors.Is(f.loading, lacking) {
			err = fmt.Errorf("%w: SCRIPT LOAD: %w", lacking, err)
		}
	}
	switch {
	// An earlier try may have run even if the last certainly did not.
	case f.script.Retry.Writes() && (f.unknown > 0 || isUnknown(err)):
		err = backend.Indeterminate(err)
	case f.unavailable(ctx, err):
		err = fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w: %w", ended, err)
	}
	return fmt.Errorf("script %s: %w", place(f.script, err), err)
}

// unavailable reports whether err means that no server could be reached, or none that would take
// the script, or answer one that only reads. A command that was not sent because ctx ended says
// nothing of servers.
func (f *failures) unavailable(ctx context.Context, err error) bool {
	switch {
	case f.loading != nil && !noScript(f.loading) && noScript(err):
		err = NotSent(f.loading) // what counts is why the script could not be loaded
	case f.missing > 0 && noScript(err):
		// The call and the loads reached different servers, as for a moment where a name leads to a new primary.
		return ctx.Err() == nil
	}
	replied := errors.As(err, new(*backend.ServerError))
	if !replied && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return false
	}
	return unavailable(err) || isUnknown(err) && !f.script.Retry.Writes()
}

// unavailable reports whether err proves that a command was not executed because no server could be
// reached, or none that would take it.
func unavailable(err error) bool {
	var server *backend.ServerError
	switch {
	case errors.Is(err, backend.ErrClosed):
		return false
	case errors.As(err, &server):
		return backend.NotExecuted(server.Code) && server.Code != "NOSCRIPT"
	}
	return isNotSent(err)
}

// place is where in script err was raised, as far as the server says: its name, or file and line.
func place(script *backend.Script, err error) string {
	var server *backend.ServerError
	if errors.As(err, &server) && server.Line > 0 {
		return fmt.Sprintf("%s.lua:%d", script.Name, server.Line)
	}
	return script.Name
}

// isUnknown reports whether err leaves open if the command ran.
func isUnknown(err error) bool {
	return !errors.As(err, new(*backend.ServerError)) && !isNotSent(err) &&
		!errors.Is(err, backend.ErrReply) && !errors.Is(err, backend.ErrClosed)
}
