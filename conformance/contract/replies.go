package contract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// replyCases are about what goes there and what comes back: R4, R5, R6.
func replyCases() []harness.Case {
	return []harness.Case{
		of("R4", "BytesSurvive", bytesSurvive),
		of("R4", "IntegersAreExact", integersAreExact),
		of("R5", "RepliesHaveTheirShape", repliesHaveTheirShape),
		of("R6", "ErrorsAreServerErrors", errorsAreServerErrors),
	}
}

// allBytes is every byte, twice with what protocols separate by.
var allBytes = func() string {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return string(all) + "\r\n$-1\r\n\x00" + string(all)
}()

// bytesSurvive runs a script that stores, and returns, a text under a key that begins like the text.
func bytesSurvive(ctx context.Context, e *harness.Env) {
	b, script := e.Backend(ctx), e.Script(
		"redis.call('set', KEYS[1], ARGV[1]) return {KEYS[1], ARGV[1], redis.call('get', KEYS[1])}",
		1, backend.RetryNever)
	large := strings.Repeat(allBytes, 2048)
	for _, text := range []string{allBytes, "", "\r\n", "\x00", "$-1\r\n", "\xff\xfe", large} {
		key := e.Key(text[:min(len(text), len(allBytes))])
		items := must.Get(must.Get(b.Run(ctx, script, []string{key}, []string{text})).Tuple(3))
		for i, want := range []string{key, text, text} {
			got, err := items[i].Text()
			must.Not(err != nil || got != want, "%d bytes came back as %d, %.100q, %w", len(want), len(got), got, err)
		}
	}
}

// wantReply fails if a script on one key, or its command, does not return what it is to.
func wantReply(ctx context.Context, b backend.Backend, s *backend.Script, key string, want backend.Reply, args ...string) {
	got, err := b.Run(ctx, s, []string{key}, args)
	must.Not(err != nil || !harness.Same(got, want),
		"%s: got %+v, want %+v, %w", cmp.Or(s.Command, s.Source), got, want, err)
}

func integersAreExact(ctx context.Context, e *harness.Env) {
	b := e.Backend(ctx)
	for _, n := range []int64{0, 1, -1, math.MaxInt32 + 1, 1<<53 - 1, 1 << 53, -1 << 53} {
		wantReply(ctx, b, e.Script(fmt.Sprintf("return tonumber('%d')", n), 1, backend.RetryNever), e.Key("k"), backend.IntegerReply(n))
	}
	script := command(e, "INCRBY")
	for i, n := range []int64{math.MaxInt64, math.MinInt64, 1<<53 + 1, -1<<53 - 1} {
		wantReply(ctx, b, script, e.Key(fmt.Sprint("n", i)), backend.IntegerReply(n), fmt.Sprint(n))
	}
}

// list returns an array.
func list(items ...backend.Reply) backend.Reply { return backend.ArrayReply(items) }

// repliesHaveTheirShape runs scripts, and then commands whose replies differ between RESP2 and RESP3.
func repliesHaveTheirShape(ctx context.Context, e *harness.Env) {
	b, str, num := e.Backend(ctx), backend.StringReply, backend.IntegerReply
	for lua, want := range map[string]backend.Reply{
		"nil":                            {},
		"false":                          {},
		"true":                           num(1),
		"''":                             str(""),
		"'7'":                            str("7"),
		"3.99":                           num(3),
		"redis.status_reply('DONE')":     str("DONE"),
		"{}":                             list(),
		"{1, nil, 3}":                    list(num(1)),
		"{{}, {1, {'x', false}}}":        list(list(), list(num(1), list(str("x"), backend.Reply{}))),
		"redis.call('get', KEYS[1])":     {},
		"redis.call('hgetall', KEYS[1])": list(),
	} {
		wantReply(ctx, b, e.Script("return "+lua, 1, backend.RetryNever), e.Key("k"), want)
	}
	for _, step := range []struct {
		command, key string
		args         []string
		want         backend.Reply
	}{
		{"SET", "s", []string{"v"}, str("OK")},
		{"GET", "none", nil, backend.Reply{}},
		{"HSET", "h", []string{"f", "v"}, num(1)},
		{"HGETALL", "h", nil, list(str("f"), str("v"))},
		{"ZADD", "z", []string{"1.5", "m"}, num(1)},
		{"ZSCORE", "z", []string{"m"}, str("1.5")},
		{"SADD", "t", []string{"m"}, num(1)},
		{"SMEMBERS", "t", nil, list(str("m"))},
	} {
		wantReply(ctx, b, command(e, step.command), e.Key(step.key), step.want, step.args...)
	}
}

func errorsAreServerErrors(ctx context.Context, e *harness.Env) {
	b, key := e.Backend(ctx), e.Key("hash")
	e.Command(ctx, "HSET", key, "f", "v")
	for _, c := range []struct {
		lua, code, part string
		line            int
	}{
		{"local a = 1\n\nreturn redis.call('get', KEYS[1])", "WRONGTYPE", "wrong kind", 3},
		{"return redis.error_reply('MYCODE a text')", "MYCODE", "a text", 0},
		{"return redis.error_reply('ERR a text')", "ERR", "a text", 0},
		{"return redis.error_reply('My text')", "ERR", "My text", 0},
	} {
		err := run(ctx, b, e.Script(c.lua, 1, backend.RetryNever), key)
		must.In(c.lua, func() { wantServerError(err, c.code, c.part, c.line) })
	}
	wantServerError(run(ctx, b, command(e, "INCR"), key), "WRONGTYPE", "wrong kind", 0)
	wantServerError(run(ctx, b, command(e, "HINCRBY"), key, "f", "1"), "ERR", "not an integer", 0)
}

// wantServerError checks the parts of a server's error; line 0 is not checked.
func wantServerError(err error, code, part string, line int) {
	var server *backend.ServerError
	must.Not(!errors.As(err, &server), "got error %w, want a *ServerError of code %s", err, code)
	must.Not(server.Code != code, "got code %q, want %q: %w", server.Code, code, err)
	must.Not(!strings.Contains(server.Message, part), "got message %q, want %q in it", server.Message, part)
	must.Not(line > 0 && server.Line != line, "got line %d, want %d: %w", server.Line, line, err)
}
