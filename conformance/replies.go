package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/hasp-go/hasp/backend"
)

// replyCases are about what goes there and what comes back: R4, R5, R6.
func replyCases() []Case {
	return []Case{
		{Name: "BytesSurvive", Clause: "R4", check: checkBytes},
		{Name: "LargeBytesSurvive", Clause: "R4", check: checkLargeBytes},
		{Name: "IntegersAreExact", Clause: "R4", check: checkIntegers},
		{Name: "CommandIntegersAreExact", Clause: "R4", check: checkCommandIntegers},
		{Name: "RepliesHaveTheirShape", Clause: "R5", check: checkShapes},
		{Name: "CommandRepliesHaveTheirShape", Clause: "R5", check: checkCommandShapes},
		{Name: "ErrorsAreServerErrors", Clause: "R6", check: checkServerErrors},
		{Name: "CommandErrorsAreServerErrors", Clause: "R6", check: checkCommandErrors},
	}
}

// allBytes is every byte, twice with what protocols separate by.
var allBytes = func() string {
	var all strings.Builder
	for i := range 256 {
		all.WriteByte(byte(i))
	}
	return all.String() + "\r\n$-1\r\n\x00" + all.String()
}()

// echo runs a script that stores, and returns, a text under a key.
func (e *env) echo(ctx context.Context, key, text string) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	script := e.script(
		"redis.call('set', KEYS[1], ARGV[1]) return {KEYS[1], ARGV[1], redis.call('get', KEYS[1])}",
		1, backend.Never)
	reply, err := b.Run(ctx, script, []string{key}, []string{text})
	if err != nil {
		return err
	}
	items, err := reply.Tuple(3)
	if err != nil {
		return err
	}
	for i, want := range []string{key, text, text} {
		if got, err := items[i].Text(); err != nil || got != want {
			return fmt.Errorf("%d bytes came back as %d, %.100q, %w", len(want), len(got), got, err)
		}
	}
	return nil
}

func checkBytes(ctx context.Context, e *env) error {
	for _, text := range []string{allBytes, "", "\r\n", "\x00", "$-1\r\n", "\xff\xfe"} {
		if err := e.echo(ctx, e.key(text), text); err != nil {
			return err
		}
	}
	return nil
}

func checkLargeBytes(ctx context.Context, e *env) error {
	return e.echo(ctx, e.key("large"), strings.Repeat(allBytes, 2048))
}

// returns checks what a script returns.
func (e *env) returns(
	ctx context.Context, b backend.Backend, lua string, want backend.Reply,
) error {
	got, err := b.Run(ctx, e.script("return "+lua, 1, backend.Never), []string{e.key("k")}, nil)
	if err == nil && !same(got, want) {
		err = fmt.Errorf("got %+v, want %+v", got, want)
	}
	if err != nil {
		return fmt.Errorf("return %s: %w", lua, err)
	}
	return nil
}

// same compares replies; an empty array may have any representation.
func same(a, b backend.Reply) bool {
	if a.Kind() != b.Kind() || a.Kind() != backend.Array {
		return reflect.DeepEqual(a, b)
	}
	as, _ := a.Items()
	bs, _ := b.Items()
	if len(as) != len(bs) {
		return false
	}
	for i := range as {
		if !same(as[i], bs[i]) {
			return false
		}
	}
	return true
}

func checkIntegers(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	for _, n := range []int64{0, 1, -1, math.MaxInt32 + 1, 1<<53 - 1, 1 << 53, -1 << 53} {
		lua := fmt.Sprintf("tonumber('%d')", n)
		if err := e.returns(ctx, b, lua, backend.IntegerReply(n)); err != nil {
			return err
		}
	}
	return nil
}

func checkCommandIntegers(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	script := e.incr(backend.Never)
	script.Command = "INCRBY"
	for i, n := range []int64{math.MaxInt64, math.MinInt64, 1<<53 + 1, -1<<53 - 1} {
		key := e.key(fmt.Sprint("n", i))
		got, err := b.Run(ctx, script, []string{key}, []string{fmt.Sprint(n)})
		if err != nil {
			return err
		}
		if !same(got, backend.IntegerReply(n)) {
			return fmt.Errorf("%d came back as %v", n, got)
		}
	}
	return nil
}

func checkShapes(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	str, num, arr := backend.StringReply, backend.IntegerReply, backend.ArrayReply
	type items = []backend.Reply
	for lua, want := range map[string]backend.Reply{
		"nil":                        {},
		"false":                      {},
		"true":                       num(1),
		"''":                         str(""),
		"'7'":                        str("7"),
		"3.99":                       num(3),
		"redis.status_reply('DONE')": str("DONE"),
		"{}":                         arr(nil),
		"{1, nil, 3}":                arr(items{num(1)}),
		"{{}, {1, {'x', false}}}": arr(items{
			arr(nil), arr(items{num(1), arr(items{str("x"), {}})}),
		}),
		"redis.call('get', KEYS[1])":     {},
		"redis.call('hgetall', KEYS[1])": arr(nil),
	} {
		if err := e.returns(ctx, b, lua, want); err != nil {
			return err
		}
	}
	return nil
}

// checkCommandShapes uses commands whose replies differ between RESP2 and RESP3.
func checkCommandShapes(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	str, arr := backend.StringReply, backend.ArrayReply
	for _, step := range []struct {
		command, key string
		args         []string
		want         backend.Reply
	}{
		{"SET", "s", []string{"v"}, str("OK")},
		{"GET", "none", nil, backend.Reply{}},
		{"HSET", "h", []string{"f", "v"}, backend.IntegerReply(1)},
		{"HGETALL", "h", nil, arr([]backend.Reply{str("f"), str("v")})},
		{"ZADD", "z", []string{"1.5", "m"}, backend.IntegerReply(1)},
		{"ZSCORE", "z", []string{"m"}, str("1.5")},
		{"SADD", "t", []string{"m"}, backend.IntegerReply(1)},
		{"SMEMBERS", "t", nil, arr([]backend.Reply{str("m")})},
	} {
		script := e.script("return 'unused'", 1, backend.Never)
		script.Command = step.command
		got, err := b.Run(ctx, script, []string{e.key(step.key)}, step.args)
		if err != nil || !same(got, step.want) {
			return fmt.Errorf("%s: got %+v, want %+v, %w", step.command, got, step.want, err)
		}
	}
	return nil
}

func checkServerErrors(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	key := e.key("hash")
	if _, err := e.Do(ctx, key, "HSET", key, "f", "v"); err != nil {
		return err
	}
	for _, c := range []struct {
		lua, code, part string
		line            int
	}{
		{"local a = 1\n\nreturn redis.call('get', KEYS[1])", "WRONGTYPE", "wrong kind", 3},
		{"return redis.error_reply('MYCODE a text')", "MYCODE", "a text", 0},
		{"return redis.error_reply('ERR a text')", "ERR", "a text", 0},
		{"return redis.error_reply('My text')", "ERR", "My text", 0},
	} {
		_, err := b.Run(ctx, e.script(c.lua, 1, backend.Never), []string{key}, nil)
		if err := wantServerError(err, c.code, c.part, c.line); err != nil {
			return fmt.Errorf("%s: %w", c.lua, err)
		}
	}
	return nil
}

// wantServerError checks the parts of a server's error; line 0 is not checked.
func wantServerError(err error, code, part string, line int) error {
	var server *backend.ServerError
	switch {
	case !errors.As(err, &server):
		return fmt.Errorf("got error %w, want a *ServerError", err)
	case server.Code != code:
		return fmt.Errorf("got code %q, want %q: %w", server.Code, code, err)
	case !strings.Contains(server.Message, part):
		return fmt.Errorf("got message %q, want %q in it", server.Message, part)
	case line > 0 && server.Line != line:
		return fmt.Errorf("got line %d, want %d: %w", server.Line, line, err)
	}
	return nil
}

func checkCommandErrors(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	key := e.key("hash")
	if _, err := e.Do(ctx, key, "HSET", key, "f", "v"); err != nil {
		return err
	}
	script := e.incr(backend.Never)
	script.Command = "INCR"
	_, err = b.Run(ctx, script, []string{key}, nil)
	if err := wantServerError(err, "WRONGTYPE", "wrong kind", 0); err != nil {
		return err
	}
	script.Command = "HINCRBY"
	_, err = b.Run(ctx, script, []string{key}, []string{"f", "1"})
	return wantServerError(err, "ERR", "not an integer", 0)
}
