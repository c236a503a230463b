package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/hasp-go/hasp/backend"
)

// sendCases are about where and how a script is sent: R1, R2, R10.
func sendCases() []Case {
	return []Case{
		{Name: "RunsAtomically", Clause: "R1", check: checkAtomic},
		{Name: "RunsOnTheOwningNode", Clause: "R1", check: checkOwningNode},
		{
			Name: "RefusesKeysOfDifferentSlots", Clause: "R1",
			needs: []need{needsCluster}, check: checkCrossSlot,
		},
		{
			Name: "TakesAnyKeysOnOneNode", Clause: "R1",
			needs: []need{needsOneNode}, check: checkAnyKeys,
		},
		{Name: "LoadsAgainAfterFlush", Clause: "R2", Alone: true, check: checkFlush},
		{
			Name: "LoadsAgainAfterRestart", Clause: "R2", Alone: true,
			needs: []need{needsRestart}, check: checkRestart,
		},
		{
			Name: "LoadsWhileTheSlotMoves", Clause: "R2", Alone: true,
			needs: []need{needsMigrate}, check: checkMoving,
		},
		{
			Name: "NeverSendsEval", Clause: "R2",
			needs: []need{needsRecord}, check: checkNeverEval,
		},
		{Name: "GivesUpLoading", Clause: "R2", check: checkBoundedLoads},
		{Name: "SendsAPlainCommand", Clause: "R10", check: checkPlain},
	}
}

func checkAtomic(ctx context.Context, e *env) error {
	script := e.script("return {redis.call('incr', KEYS[1]), redis.call('incr', KEYS[2])}",
		2, backend.Never)
	keys := []string{e.key("a"), e.key("b")}
	var group sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		b, err := e.backend(ctx)
		if err != nil {
			return err
		}
		group.Go(func() { errs[i] = alwaysEqual(ctx, b, script, keys) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// alwaysEqual runs a script that must always return two equal numbers.
func alwaysEqual(ctx context.Context, b backend.Backend, s *backend.Script, keys []string) error {
	for range 20 {
		reply, err := b.Run(ctx, s, keys, nil)
		if err != nil {
			return err
		}
		pair, err := reply.Tuple(2)
		if err != nil {
			return err
		}
		if pair[0].Kind() != backend.Integer || fmt.Sprint(pair[0]) != fmt.Sprint(pair[1]) {
			return fmt.Errorf("another run came between two commands of a script: %v", pair)
		}
	}
	return nil
}

func checkOwningNode(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	script := e.script("return redis.call('set', KEYS[1], ARGV[1])", 1, backend.Never)
	for i := range 32 {
		key := fmt.Sprintf("%s:%d", e.tag, i) // each in a slot of its own
		if _, err := b.Run(ctx, script, []string{key}, []string{"x"}); err != nil {
			return fmt.Errorf("key %s: %w", key, err)
		}
		got, err := e.Do(ctx, key, "GET", key)
		if text, textErr := got.Text(); err != nil || textErr != nil || text != "x" {
			return fmt.Errorf("key %s has %v, %w", key, got, errors.Join(err, textErr))
		}
	}
	return nil
}

// differentSlots returns two keys of different slots.
func (e *env) differentSlots() []string {
	keys := []string{e.tag + ":0", ""}
	for i := 1; keys[1] == "" || backend.Slot(keys[0]) == backend.Slot(keys[1]); i++ {
		keys[1] = fmt.Sprintf("%s:%d", e.tag, i)
	}
	return keys
}

func checkCrossSlot(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	keys := e.differentSlots()
	script := e.script("for _, k in ipairs(KEYS) do redis.call('incr', k) end", 2, backend.Never)
	if _, err := b.Run(ctx, script, keys, nil); !errors.Is(err, backend.ErrCrossSlot) {
		return fmt.Errorf("got error %w, want ErrCrossSlot", err)
	}
	return errors.Join(e.wantCount(ctx, keys[0], 0), e.wantCount(ctx, keys[1], 0))
}

func checkAnyKeys(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	keys := e.differentSlots()
	script := e.script("for _, k in ipairs(KEYS) do redis.call('incr', k) end", 2, backend.Never)
	if _, err := b.Run(ctx, script, keys, nil); err != nil {
		return err
	}
	return errors.Join(e.wantCount(ctx, keys[0], 1), e.wantCount(ctx, keys[1], 1))
}

func checkFlush(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	key := e.key("n")
	scripts := []*backend.Script{
		e.incr(backend.Never),
		e.script("return redis.call('get', KEYS[1])", 1, backend.ReadOnly),
	}
	for i := range 4 {
		for _, script := range scripts {
			reply, err := b.Run(ctx, script, []string{key}, nil)
			if err != nil {
				return err
			}
			if n, err := reply.Int(); err != nil || n != int64(i+1) {
				return fmt.Errorf("run %d returned %d, %w", i, n, err)
			}
		}
		if _, err := e.nodes(ctx, "SCRIPT", "FLUSH"); err != nil {
			return err
		}
	}
	return nil
}

func checkRestart(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	script, key := e.incr(backend.Never), e.key("n")
	if _, err := b.Run(ctx, script, []string{key}, nil); err != nil {
		return err
	}
	if err := e.Restart(ctx, false); err != nil {
		return err
	}
	// Connections that broke may cost calls, whose scripts were not run: the data is gone.
	err = eventually(ctx, "a run after the restart", func() (bool, error) {
		_, err := b.Run(ctx, script, []string{key}, nil)
		var server *backend.ServerError
		if errors.As(err, &server) {
			return true, nil
		}
		return err == nil, err
	})
	if err != nil {
		return err
	}
	return e.wantCount(ctx, key, 1)
}

func checkMoving(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	script, key := e.incr(backend.Never), e.key("n")
	if _, err := b.Run(ctx, script, []string{key}, nil); err != nil {
		return err
	}
	finish, err := e.Migrate(ctx, key)
	if err != nil {
		return err
	}
	// The importing node has the key, but was never asked for the script.
	_, err = b.Run(ctx, script, []string{key}, nil)
	if finishErr := finish(ctx); err != nil || finishErr != nil {
		return fmt.Errorf("while the slot moves: %w", errors.Join(err, finishErr))
	}
	if _, err := b.Run(ctx, script, []string{key}, nil); err != nil {
		return fmt.Errorf("after the slot moved: %w", err)
	}
	return e.wantCount(ctx, key, 3)
}

func checkNeverEval(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	stop, err := e.Record(ctx)
	if err != nil {
		return err
	}
	script, key := e.incr(backend.Never), e.key("n")
	for range 2 {
		if _, err := b.Run(ctx, script, []string{key}, nil); err != nil {
			return err
		}
	}
	commands, err := stop()
	if err != nil {
		return err
	}
	sent := matching(commands, key)
	for _, words := range sent {
		if !strings.EqualFold(words[0], "EVALSHA") {
			return fmt.Errorf("sent %s, want EVALSHA", words[0])
		}
	}
	if len(sent) == 0 {
		return errors.New("no EVALSHA was seen")
	}
	return nil
}

// checkBoundedLoads uses a script that the server never knows, because its hash is another's.
func checkBoundedLoads(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	script := e.incr(backend.Never)
	script.SHA1 = strings.Repeat("0", 40)
	runErr, err := promptly(Patience/4, "Run of a script that cannot be loaded", func() error {
		_, err := b.Run(ctx, script, []string{e.key("n")}, nil)
		return err
	})
	var server *backend.ServerError
	switch {
	case err != nil:
		return err
	case !errors.As(runErr, &server) || server.Code != "NOSCRIPT":
		return fmt.Errorf("got error %w, want the NOSCRIPT error", runErr)
	}
	return nil
}

// checkPlain gives a script whose source does something else than its command.
func checkPlain(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	script, key := e.script("return 'the source was run'", 1, backend.Never), e.key("n")
	script.Command = "APPEND"
	reply, err := b.Run(ctx, script, []string{key}, []string{"777"})
	if err != nil {
		return err
	}
	if !same(reply, backend.IntegerReply(3)) {
		return fmt.Errorf("got %+v, want the command's reply", reply)
	}
	return e.wantCount(ctx, key, 777)
}
