package contract

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// sendCases are about where, how and how often a script is sent: R1, R2, R3, R10, R11.
func sendCases() []harness.Case {
	return []harness.Case{
		of("R1", "RunsAtomically", runsAtomically),
		of("R1", "RunsOnTheOwningNode", runsOnTheOwningNode),
		of("R1", "RefusesKeysOfDifferentSlots", refusesSlots, harness.Cluster),
		of("R1", "TakesAnyKeysOnOneNode", takesAnyKeys, harness.OneNode),
		alone(of("R2", "LoadsAgainAfterFlush", loadsAfterFlush)),
		alone(of("R2", "LoadsAgainAfterRestart", loadsAfterRestart, harness.Restart)),
		alone(of("R2", "LoadsWhileTheSlotMoves", loadsWhileMoving, harness.Migrate)),
		of("R2", "NeverSendsEval", neverSendsEval, harness.Faults),
		of("R2", "GivesUpLoading", givesUpLoading),
		of("R10", "SendsAPlainCommand", sendsAPlainCommand),
		of("R3", "LostCommandSendsOnce", lostCommandSendsOnce, harness.Faults),
		of("R3", "LostRepeatableSettles", lostRepeatableSettles, harness.Faults),
		of("R3", "RefusedDialIsDefinite", refusedDialIsDefinite, harness.Faults),
		of("R3", "NoServerIsUnavailable", noServerIsUnavailable, harness.Faults),
		of("R11", "OutlastsAShortOutage", outlastsAShortOutage, harness.Faults),
		of("R3", "ErrorReplyStands", errorReplyStands),
	}
}

func runsAtomically(ctx context.Context, e *harness.Env) {
	script := e.Script("return {redis.call('incr', KEYS[1]), redis.call('incr', KEYS[2])}", 2, backend.RetryNever)
	keys := []string{e.Key("a"), e.Key("b")}
	must.Together(8, func(int) {
		b := e.Backend(ctx)
		for range 20 {
			pair := must.Get(must.Get(b.Run(ctx, script, keys, nil)).Tuple(2))
			equal := pair[0].Kind() == backend.KindInteger && harness.Same(pair[0], pair[1])
			must.Not(!equal, "another run came between two commands of a script: %v", pair)
		}
	})
}

func runsOnTheOwningNode(ctx context.Context, e *harness.Env) {
	b := e.Backend(ctx)
	script := e.Script("return redis.call('set', KEYS[1], ARGV[1])", 1, backend.RetryNever)
	for i := range 32 {
		key := fmt.Sprintf("%s:%d", e.Tag, i) // each in a slot of its own
		must.In("key "+key, func() { must.Do(run(ctx, b, script, key, "x")) })
		e.WantText(ctx, key, "x")
	}
}

// runApart runs a script that counts in each of its two keys, whose slots differ.
func runApart(ctx context.Context, e *harness.Env) (keys []string, err error) {
	script := e.Script("for _, k in ipairs(KEYS) do redis.call('incr', k) end", 2, backend.RetryNever)
	keys = e.Slots()
	_, err = e.Backend(ctx).Run(ctx, script, keys, nil)
	return keys, err
}

func refusesSlots(ctx context.Context, e *harness.Env) {
	keys, err := runApart(ctx, e)
	must.Wrap(err, backend.ErrCrossSlot)
	must.Not(errors.As(err, new(*backend.ServerError)), "the server was asked: %w", err)
	e.WantCount(ctx, keys[0], 0)
	e.WantCount(ctx, keys[1], 0)
}

func takesAnyKeys(ctx context.Context, e *harness.Env) {
	keys := must.Get(runApart(ctx, e))
	e.WantCount(ctx, keys[0], 1)
	e.WantCount(ctx, keys[1], 1)
	// A cluster behind one endpoint, which the client takes for a server, refuses the keys itself.
	refused := e.Script("return redis.error_reply('CROSSSLOT not the same slot')", 1, backend.RetryNever)
	err := run(ctx, e.Backend(ctx), refused, keys[0])
	must.Not(!errors.Is(err, backend.ErrCrossSlot) || errors.Is(err, backend.ErrUnavailable), "got %w", err)
}

func loadsAfterFlush(ctx context.Context, e *harness.Env) {
	b, key := e.Backend(ctx), e.Key("n")
	scripts := []*backend.Script{
		e.Incr(backend.RetryNever), e.Script("return redis.call('get', KEYS[1])", 1, backend.RetryReadOnly),
	}
	for i := range int64(4) {
		for _, script := range scripts {
			reply := must.Get(b.Run(ctx, script, []string{key}, nil))
			must.Return(fmt.Sprint("run ", i), i+1)(reply.Int())
		}
		must.Get(e.Primaries(ctx, "SCRIPT", "FLUSH"))
	}
}

func loadsAfterRestart(ctx context.Context, e *harness.Env) {
	b, script, key := e.Backend(ctx), e.Incr(backend.RetryNever), e.Key("n")
	must.Do(run(ctx, b, script, key))
	must.Do(e.Restart(ctx, false))
	// Connections that broke may cost calls, whose scripts were not run: the data is gone.
	harness.Eventually(ctx, "a run after the restart", func() bool {
		err := run(ctx, b, script, key)
		if !errors.As(err, new(*backend.ServerError)) {
			must.Do(err)
		}
		return true
	})
	e.WantCount(ctx, key, 1)
}

func loadsWhileMoving(ctx context.Context, e *harness.Env) {
	b, script, key := e.Backend(ctx), e.Incr(backend.RetryNever), e.Key("n")
	must.Do(run(ctx, b, script, key))
	finish := must.Get(e.Migrate(ctx, key))
	// The importing node has the key, but was never asked for the script.
	err := errors.Join(run(ctx, b, script, key), finish(ctx))
	must.Not(err != nil, "while the slot moves: %w", err)
	must.In("after the slot moved", func() { must.Do(run(ctx, b, script, key)) })
	e.WantCount(ctx, key, 3)
}

func neverSendsEval(ctx context.Context, e *harness.Env) {
	in, script, key := e.Open(ctx), e.Incr(backend.RetryNever), e.Key("n")
	stop := in.Link.Record()
	for range 2 {
		must.Do(run(ctx, in.Backend, script, key))
	}
	sent := harness.Matching(stop(), key)
	must.Not(len(sent) == 0, "no EVALSHA was seen")
	for _, words := range sent {
		must.Not(!harness.IsCommand(words, "EVALSHA"), "sent %s, want EVALSHA", words[0])
	}
}

// givesUpLoading uses a script that the server never knows, because its hash is another's.
func givesUpLoading(ctx context.Context, e *harness.Env) {
	b, script := e.Backend(ctx), e.Incr(backend.RetryNever)
	script.SHA1 = strings.Repeat("0", 40)
	err := harness.Promptly(harness.Patience/4, "Run of a script that cannot be loaded", func() error {
		return run(ctx, b, script, e.Key("n"))
	})
	wantServerError(err, "NOSCRIPT", "", 0)
}

// command returns a plain command as a script whose source does something else.
func command(e *harness.Env, name string) *backend.Script {
	script := e.Script("return 'the source was run'", 1, backend.RetryNever)
	script.Command = name
	return script
}

func sendsAPlainCommand(ctx context.Context, e *harness.Env) {
	b, key := e.Backend(ctx), e.Key("n")
	wantReply(ctx, b, command(e, "APPEND"), key, backend.IntegerReply(3), "777")
	e.WantCount(ctx, key, 777)
}

// loseOne runs script while the reply to its second sending is lost, and returns that run's error.
func loseOne(ctx context.Context, e *harness.Env, script *backend.Script) error {
	in, key := e.Open(ctx), e.Key("n")
	// A first run makes the connection and loads the script.
	must.In("before the loss", func() { must.Do(run(ctx, in.Backend, script, key)) })
	hit := in.Link.CutReply(func(words []string) bool {
		return harness.RunsScript(words, key) || len(words) > 1 && words[1] == key
	})
	lost := run(ctx, in.Backend, script, key)
	awaitLoss(ctx, hit, lost)
	recovers(ctx, e, in.Backend)
	return lost
}

func lostCommandSendsOnce(ctx context.Context, e *harness.Env) {
	must.Wrap(loseOne(ctx, e, command(e, "INCR")), backend.ErrIndeterminate)
	e.WantCount(ctx, e.Key("n"), 2)
}

func lostRepeatableSettles(ctx context.Context, e *harness.Env) {
	script := e.Script("return redis.call('set', KEYS[1], 1)", 1, backend.RetryRepeatable)
	if lost := loseOne(ctx, e, script); lost != nil {
		must.Wrap(lost, backend.ErrIndeterminate)
	}
}

// unserved calls where every dial is refused until the error is ok: the first calls may still meet a
// connection that has just broken. It fails if the error leaves open whether something was run.
func unserved(ctx context.Context, e *harness.Env, in *harness.Instance, call func() error, ok func(err error) bool) {
	in.Link.Refuse()
	var err error
	harness.Eventually(ctx, "the error of a call without a server", func() bool {
		err = call()
		must.Not(!ok(err), "got %w", err)
		return true
	})
	wroteNothing(ctx, e, err)
}

func refusedDialIsDefinite(ctx context.Context, e *harness.Env) {
	in, script := e.Open(ctx), e.Incr(backend.RetryNever)
	unserved(ctx, e, in, func() error {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		return run(ctx, in.Backend, script, e.Key("n"))
	}, func(err error) bool { return err != nil && !errors.Is(err, backend.ErrIndeterminate) })
}

// noServerIsUnavailable runs a script whose context does not end.
func noServerIsUnavailable(ctx context.Context, e *harness.Env) {
	in, script := e.Open(ctx), e.Incr(backend.RetryNever)
	unserved(ctx, e, in, func() error {
		return run(context.WithoutCancel(ctx), in.Backend, script, e.Key("n"))
	}, func(err error) bool { return errors.Is(err, backend.ErrUnavailable) })
	in.Link.Restore()
	recovers(ctx, e, in.Backend)
}

// outlastsAShortOutage has no server for half a second. A slow machine may use up the backend's time, but not in a second.
func outlastsAShortOutage(ctx context.Context, e *harness.Env) {
	in, began := e.Open(ctx), time.Now()
	in.Link.Refuse()
	defer time.AfterFunc(500*time.Millisecond, in.Link.Restore).Stop()
	err := run(ctx, in.Backend, e.Script("return 1", 1, backend.RetryReadOnly), e.Key("n"))
	must.Not(err != nil && time.Since(began) < time.Second, "got %w within a second", err)
}

// wroteNothing fails if err leaves open whether a script ran that counts at the key n, or if it did.
func wroteNothing(ctx context.Context, e *harness.Env, err error) {
	must.Not(errors.Is(err, backend.ErrIndeterminate) || backend.MayHaveRun(err),
		"got error %w, want one of a script that certainly wrote nothing", err)
	e.WantCount(ctx, e.Key("n"), 0)
}

func errorReplyStands(ctx context.Context, e *harness.Env) {
	b, key := e.Backend(ctx), e.Key("n")
	script := e.Script("redis.call('incr', KEYS[1]) return redis.error_reply('STOP half way')", 1, backend.RetryNever)
	err := run(ctx, b, script, key)
	must.Not(errors.Is(err, backend.ErrIndeterminate) || !backend.MayHaveRun(err),
		"got error %w, want a definite one of a script that may have run", err)
	e.WantCount(ctx, key, 1)
}
