package embedded_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
)

func TestErrorsOfScripts(t *testing.T) {
	t.Parallel()
	b := newBackend(t, embedded.NewServer())
	require.NoError(t, errOf(b.Server().Do("SET", "text", "x")))
	for source, want := range map[string]backend.ServerError{
		"\nreturn redis.call('hget', KEYS[1], 'f')": {
			Code: "WRONGTYPE", Line: 2,
			Message: "Operation against a key holding the wrong kind of value",
		},
		"return redis.pcall('hget', KEYS[1], 'f')": {
			Code: "WRONGTYPE", Message: "Operation against a key holding the wrong kind of value",
		},
		"error({err = 'NOTOWNER of it'})":            {Code: "NOTOWNER", Message: "of it"},
		"return redis.error_reply('NOTOWNER of it')": {Code: "NOTOWNER", Message: "of it"},
		"return {err = 'NOTOWNER of it'}":            {Code: "NOTOWNER", Message: "of it"},
		"\n\nerror('plain text')":                    {Code: "ERR", Line: 3, Message: "plain text"},
		"return redis.call('incr', KEYS[1])": {
			Code: "ERR", Line: 1, Message: "value is not an integer or out of range",
		},
		"\nreturn nowhere": {
			Code: "ERR", Line: 2,
			Message: "Script attempted to access nonexistent global variable 'nowhere'",
		},
	} {
		script := backend.NewScript("fails", source, 1, backend.RetryNever)
		_, err := b.Run(t.Context(), script, []string{"text"}, nil)
		var server *backend.ServerError
		require.ErrorAs(t, err, &server, source)
		require.Equal(t, want, *server, source)
		if want.Line > 0 {
			require.ErrorContains(t, err, fmt.Sprintf("script fails.lua:%d: ", want.Line))
		}
		require.True(t, backend.MayHaveRun(err))
	}
}

func TestScriptThatDoesNotCompile(t *testing.T) {
	t.Parallel()
	b := newBackend(t, embedded.NewServer())
	script := backend.NewScript("broken", "return 1 1", 1, backend.RetryNever)
	_, err := b.Run(t.Context(), script, []string{"k"}, nil)
	require.ErrorContains(t, err, "line:1(column:10)")
	require.False(t, backend.MayHaveRun(err))
}

func TestReadOnlyScriptMayNotWrite(t *testing.T) {
	t.Parallel()
	b := newBackend(t, embedded.NewServer())
	script := backend.NewScript("liar", "return redis.call('set', KEYS[1], 1)", 1, backend.RetryReadOnly)
	_, err := b.Run(t.Context(), script, []string{"k"}, nil)
	require.ErrorContains(t, err, "Write commands are not allowed")
}

func TestReadOnlyScriptHasTheTime(t *testing.T) {
	t.Parallel()
	b := newBackend(t, embedded.NewServer())
	script := backend.NewScript("clock", "return redis.call('time')[1]", 1, backend.RetryReadOnly)
	reply := must(b.Run(t.Context(), script, []string{"k"}, nil))(t)
	require.NotEmpty(t, must(reply.Text())(t))
}

// A script that takes long keeps the server, but not its caller.
func TestCancelReturnsBeforeTheScript(t *testing.T) {
	t.Parallel()
	b := newBackend(t, embedded.NewServer())
	slow := backend.NewScript("slow", `
		redis.call('publish', 'began', '')
		for i = 1, 3000000 do local x = i end
		return redis.call('incr', KEYS[1])`, 1, backend.RetryNever)
	require.NoError(t, errOf(b.Server().Do("SCRIPT", "LOAD", slow.Source)))
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, errOf(b.Subscribe(t.Context(), "began", func(backend.Event) { cancel() })))
	_, err := b.Run(ctx, slow, []string{"n"}, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, backend.ErrIndeterminate)
	reply, err := b.Server().Do("GET", "n") // waits for the script
	require.NoError(t, err)
	require.Equal(t, backend.StringReply("1"), reply, "it goes on")
}

func TestBatchAndReplicas(t *testing.T) {
	t.Parallel()
	b := newBackend(t, embedded.NewServer())
	incr := backend.NewScript("incr", "return redis.call('incr', KEYS[1])", 1, backend.RetryNever)
	outcomes := backend.RunAll(t.Context(), b, []backend.Call{
		{Script: incr, Keys: []string{"a"}}, {Script: incr}, {Script: incr, Keys: []string{"a"}},
	})
	require.Equal(t, backend.Outcome{Reply: backend.IntegerReply(1)}, outcomes[0])
	require.Error(t, outcomes[1].Err)
	require.Equal(t, backend.Outcome{Reply: backend.IntegerReply(2)}, outcomes[2])

	call := backend.Call{Script: incr, Keys: []string{"a"}}
	b.RunThenWait(t.Context(), []backend.Call{call}, 2, time.Hour, func(_ int, o backend.Outcome) {
		require.Equal(t, backend.Outcome{Reply: backend.IntegerReply(3)}, o)
	})
}

func TestDo(t *testing.T) {
	t.Parallel()
	server := embedded.NewServer()
	require.ErrorContains(t, errOf(server.Do()), "no command")
	require.ErrorContains(t, errOf(server.Do("NOSUCH", "x")), "unknown command")
	reply := must(server.Do("MULTI"))(t)
	require.Equal(t, backend.StringReply("OK"), reply)
	reply = must(server.Do("PING"))(t)
	require.Equal(t, backend.StringReply("PONG"), reply, "no state from one call to the next")
}
