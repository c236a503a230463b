package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// onceCases are about scripts whose outcome is in doubt: R3.
func onceCases() []Case {
	link := []need{needsLink}
	return []Case{
		{Name: "LostReplyIsIndeterminate", Clause: "R3", needs: link, check: checkLostReply},
		{Name: "LostReplySendsOnce", Clause: "R3", needs: link, check: checkSentOnce},
		{Name: "LostCommandSendsOnce", Clause: "R3", needs: link, check: checkPlainOnce},
		{Name: "LostRepeatableSettles", Clause: "R3", needs: link, check: checkRepeatable},
		{Name: "RefusedDialIsDefinite", Clause: "R3", needs: link, check: checkRefusedDial},
		{Name: "NoServerIsUnavailable", Clause: "R3", needs: link, check: checkNoServer},
		{Name: "RefusalIsUnavailable", Clause: "R3", check: checkRefusal},
		{Name: "ErrorReplyStands", Clause: "R3", check: checkErrorStands},
	}
}

// loseOne runs script while the reply to its second sending is lost, and returns that run's error.
func (e *env) loseOne(ctx context.Context, script *backend.Script, key string) (lost, err error) {
	in, err := e.open(ctx)
	if err != nil {
		return nil, err
	}
	// A first run makes the connection and loads the script.
	if _, err := in.Backend.Run(ctx, script, []string{key}, nil); err != nil {
		return nil, fmt.Errorf("before the loss: %w", err)
	}
	hit := in.Link.CutReply(func(words []string) bool {
		return runsScript(words, key) || len(words) > 1 && words[1] == key
	})
	_, lost = in.Backend.Run(ctx, script, []string{key}, nil)
	select {
	case <-hit:
		return lost, e.recovers(ctx, in.Backend)
	case <-ctx.Done():
		return nil, fmt.Errorf("no reply was lost, the run returned %w", lost)
	}
}

// recovers waits until b runs scripts again.
func (e *env) recovers(ctx context.Context, b backend.Backend) error {
	script := e.script("return 1 -- recovers", 1, backend.ReadOnly)
	return eventually(ctx, "the backend to recover", func() (bool, error) {
		_, err := b.Run(ctx, script, []string{e.key("recovers")}, nil)
		return err == nil, err
	})
}

func checkLostReply(ctx context.Context, e *env) error {
	lost, err := e.loseOne(ctx, e.incr(backend.Never), e.key("n"))
	if err == nil && !errors.Is(lost, backend.ErrIndeterminate) {
		err = fmt.Errorf("got error %w, want one that wraps ErrIndeterminate", lost)
	}
	return err
}

func checkSentOnce(ctx context.Context, e *env) error {
	key := e.key("n")
	if _, err := e.loseOne(ctx, e.incr(backend.Never), key); err != nil {
		return err
	}
	return e.wantCount(ctx, key, 2)
}

func checkPlainOnce(ctx context.Context, e *env) error {
	script, key := e.incr(backend.Never), e.key("n")
	script.Command = "INCR"
	if _, err := e.loseOne(ctx, script, key); err != nil {
		return err
	}
	return e.wantCount(ctx, key, 2)
}

func checkRepeatable(ctx context.Context, e *env) error {
	script := e.script("return redis.call('set', KEYS[1], 1)", 1, backend.Repeatable)
	lost, err := e.loseOne(ctx, script, e.key("n"))
	if err == nil && lost != nil && !errors.Is(lost, backend.ErrIndeterminate) {
		err = fmt.Errorf("got error %w, want nil or one that wraps ErrIndeterminate", lost)
	}
	return err
}

func checkRefusedDial(ctx context.Context, e *env) error {
	in, err := e.open(ctx)
	if err != nil {
		return err
	}
	script, key := e.incr(backend.Never), e.key("n")
	in.Link.Refuse()
	var last error
	// The first calls may still meet a connection that has just broken.
	err = eventually(ctx, "a definite error", func() (bool, error) {
		callCtx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		_, last = in.Backend.Run(callCtx, script, []string{key}, nil)
		return last != nil && !errors.Is(last, backend.ErrIndeterminate), last
	})
	if err != nil {
		return err
	}
	if backend.MayHaveRun(last) {
		return fmt.Errorf("MayHaveRun is true for %w", last)
	}
	return e.wantCount(ctx, key, 0)
}

// checkNoServer runs a script, whose context does not end, where every dial is refused.
func checkNoServer(ctx context.Context, e *env) error {
	in, err := e.open(ctx)
	if err != nil {
		return err
	}
	script, key := e.incr(backend.Never), e.key("n")
	in.Link.Refuse()
	var last error
	// The first calls may still meet a connection that has just broken.
	err = eventually(ctx, "an error that no server is available", func() (bool, error) {
		_, last = in.Backend.Run(context.WithoutCancel(ctx), script, []string{key}, nil)
		return errors.Is(last, backend.ErrUnavailable), last
	})
	if err == nil {
		err = e.wroteNothing(ctx, last, key)
	}
	if err != nil {
		return err
	}
	in.Link.Restore()
	return e.recovers(ctx, in.Backend)
}

// checkRefusal runs a script that answers as a server does which takes no scripts.
func checkRefusal(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	for _, code := range []string{"LOADING", "MASTERDOWN", "READONLY"} {
		script := e.script("return redis.error_reply('"+code+" for a test')", 1, backend.Never)
		_, err := b.Run(ctx, script, []string{e.key("n")}, nil)
		if !errors.Is(err, backend.ErrUnavailable) {
			return fmt.Errorf("got error %w, want one that wraps ErrUnavailable", err)
		}
		if err := e.wroteNothing(ctx, err, e.key("n")); err != nil {
			return err
		}
	}
	return nil
}

// wroteNothing checks that err does not leave open if the script ran that counts at key.
func (e *env) wroteNothing(ctx context.Context, err error, key string) error {
	if errors.Is(err, backend.ErrIndeterminate) || backend.MayHaveRun(err) {
		return fmt.Errorf("got error %w, want one of a script that surely wrote nothing", err)
	}
	return e.wantCount(ctx, key, 0)
}

func checkErrorStands(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	key := e.key("n")
	script := e.script(
		"redis.call('incr', KEYS[1]) return redis.error_reply('STOP half way')", 1, backend.Never)
	_, err = b.Run(ctx, script, []string{key}, nil)
	if errors.Is(err, backend.ErrIndeterminate) || !backend.MayHaveRun(err) {
		return fmt.Errorf("got error %w, want a definite one of a script that may have run", err)
	}
	return e.wantCount(ctx, key, 1)
}
