package evalsha

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
)

const (
	// refusedFor bounds how long a command that the server or the network refuses is offered
	// again: long enough for a slot to move or a replica to be promoted after its election, short
	// enough that a caller without a deadline hears of a server that is down.
	refusedFor = 3 * time.Second

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
	for err != nil {
		if f.giveUp(ctx, err) {
			return backend.Reply{}, outcome(ctx, script, err)
		}
		var reply backend.Reply
		if reply, err = send(); err == nil {
			return reply, nil
		}
	}
	return backend.Reply{}, nil
}

// failures counts what went wrong with one call so far.
type failures struct {
	runner  *Runner
	script  *backend.Script
	key     string
	since   time.Time
	pause   time.Duration
	missing int // NOSCRIPT replies
	unnamed int // "unknown command" replies
	unknown int // lost replies
}

// giveUp prepares another try after err, by loading or pausing, and reports false; or it reports
// that there must be no other.
func (f *failures) giveUp(ctx context.Context, err error) bool {
	var server *backend.ServerError
	isServer := errors.As(err, &server)
	switch {
	case isServer && server.Code == "NOSCRIPT" && f.script.Command == "":
		return f.load(ctx) != nil
	case unknownCommand(err) && f.script.Retry == backend.ReadOnly && f.script.Command == "":
		f.runner.plainRO.Store(true)
		f.unnamed++
		return f.unnamed > 1
	case isServer && backend.NotExecuted(server.Code), errors.As(err, new(*notSentError)):
		return time.Since(f.since) > refusedFor || !f.rest(ctx)
	case isServer || f.script.Retry == backend.Never:
		return true
	}
	f.unknown++
	return f.unknown > unknownTries || !f.rest(ctx)
}

// load loads the missing script: first where its key lives, then everywhere, then no more.
func (f *failures) load(ctx context.Context) error {
	f.missing++
	switch f.missing {
	case 1:
		return f.runner.driver.Load(ctx, f.script, f.key)
	case 2:
		return f.runner.driver.LoadAll(ctx, f.script)
	}
	return backend.ErrNotSupported
}

// rest waits before the next try, and reports whether ctx still lasts.
func (f *failures) rest(ctx context.Context) bool {
	timer := time.NewTimer(f.pause)
	defer timer.Stop()
	f.pause = min(2*f.pause, mostPause)
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// outcome is the error that the caller gets when there is no other try after err.
func outcome(ctx context.Context, script *backend.Script, err error) error {
	var server *backend.ServerError
	if !errors.As(err, &server) && !errors.As(err, new(*notSentError)) && script.Retry.Writes() {
		err = backend.Indeterminate(err)
	}
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w: %w", ended, err)
	}
	return fmt.Errorf("script %s: %w", script.Name, err)
}
