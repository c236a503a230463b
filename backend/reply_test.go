package backend_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
)

var (
	nilReply = backend.Reply{}
	one      = backend.IntegerReply(1)
	text     = backend.StringReply("a\x00\xff")
	array    = backend.ArrayReply([]backend.Reply{one, text})
)

// TestNames: what has a name that is shown has one for values that it does not know, too.
func TestNames(t *testing.T) {
	t.Parallel()
	for name, values := range map[string][]fmt.Stringer{
		"nil": {nilReply.Kind()}, "integer": {one.Kind()}, "string": {text.Kind()}, "array": {array.Kind()},
		"never": {backend.Retry(0)}, "safe": {backend.RetryRepeatable}, "readonly": {backend.RetryReadOnly},
		"auto": {backend.Sharding(0)}, "on": {backend.ShardedOn}, "off": {backend.ShardedOff},
		"unknown": {backend.Kind(99), backend.Retry(9), backend.Sharding(9)},
	} {
		for _, value := range values {
			require.Equal(t, name, value.String())
		}
	}
}

// decoder is a decoding method of any type.
func decoder[T any](decode func(backend.Reply) (T, error)) func(backend.Reply) (any, error) {
	return func(r backend.Reply) (any, error) { return decode(r) }
}

// TestReplyOfAnotherKind: but for nil, which is false, no method makes a value of what is none. Fuzz tests have numbers.
func TestReplyOfAnotherKind(t *testing.T) {
	t.Parallel()
	decoders := map[string]func(backend.Reply) (any, error){
		"text": decoder(backend.Reply.Text), "int": decoder(backend.Reply.Int), "float": decoder(backend.Reply.Float),
		"bool": decoder(backend.Reply.Bool), "stamp": decoder(backend.Reply.UnixMilli), "items": decoder(backend.Reply.Items),
	}
	want := map[string]any{"bool of nil": false, "text of string": "a\x00\xff", "items of array": []backend.Reply{one, text}}
	for name, decode := range decoders {
		for _, reply := range []backend.Reply{nilReply, text, array} {
			name := fmt.Sprint(name, " of ", reply.Kind())
			got, err := decode(reply)
			if expected, ok := want[name]; ok {
				require.NoError(t, err, name)
				require.Equal(t, expected, got)
				continue
			}
			require.ErrorIs(t, err, backend.ErrReply, name)
			require.Zero(t, got, name)
		}
	}
}

// The slots are CLUSTER KEYSLOT's answers.
func TestSlot(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]int{
		"":                     0,
		"123456789":            12739,
		"foo{hash_tag}":        2515,
		"foo{}{bar}":           8363,
		"foo{{bar}}zap":        4015,
		"foo{bar}{zap}":        5061,
		"{user1000}.followers": 3443,
		"no}open{tag":          13077,
		"\x00\xff{a\x00}":      14363,
		"\x00\xff":             7920,
	} {
		require.Equal(t, want, backend.Slot(key), "%q", key)
	}
}

func TestMayHaveRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{context.Canceled, false},
		{backend.ErrClosed, false},
		{backend.ErrCrossSlot, false},
		{backend.ErrNotSupported, false},
		{io.EOF, false},
		{backend.Indeterminate(io.EOF), true},
		{fmt.Errorf("x: %w", backend.ErrReply), true},
		{fmt.Errorf("x: %w", backend.ParseServerError("WRONGTYPE x")), true},
		{fmt.Errorf("x: %w", backend.ParseServerError("NOSCRIPT x")), false},
		{fmt.Errorf("%w: %w", backend.ErrReplicas, backend.ParseServerError("BUSY x")), true},
		{fmt.Errorf("%w: %w", backend.ErrReplicas, context.DeadlineExceeded), true},
		// An earlier try was lost, the last one refused.
		{backend.Indeterminate(backend.ParseServerError("LOADING x")), true},
		{errors.Join(context.Canceled, backend.ParseServerError("MOVED 1 a:1")), false},
	} {
		require.Equal(t, c.want, backend.MayHaveRun(c.err), "%v", c.err)
	}
}

func TestCapabilitiesPublish(t *testing.T) {
	t.Parallel()
	require.Equal(t, "PUBLISH", backend.Capabilities{Cluster: true, PubSub: true}.Publish())
	require.Equal(t, "SPUBLISH", backend.Capabilities{Sharded: true}.Publish())
}

const (
	hash      = "bf8a99b421d41865be49a826af1fe31df2de6e9c"
	wrongKind = "Operation against a key holding the wrong kind of value"
	compiling = "ERR Error compiling script (new function): "
	callFrame = " stack traceback:  [G]: in function 'call'  :3: in function 'f'  :5: in main chunk  [G]: ?"
	errFrame  = " stack traceback:  [G]: in function 'error'  :1: in main chunk  [G]: ?"
)

// The texts were taken from Redis 7.0.15, Valkey 8.0.1 and miniredis 2.40.0, those of Redis 6 from
// its source. FuzzServerErrorRoundTrip has the forms in which each words all errors; here are the others.
func TestParseServerError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want backend.ServerError
	}{
		{"NOSCRIPT No matching script. Please use EVAL.",
			backend.ServerError{Code: "NOSCRIPT", Message: "No matching script. Please use EVAL."}},
		{"-WRONGTYPE " + wrongKind, backend.ServerError{Code: "WRONGTYPE", Message: wrongKind}},
		{"MOVED 3999 127.0.0.1:6381",
			backend.ServerError{Code: "MOVED", Message: "3999 127.0.0.1:6381"}},
		{"ERR unknown command 'nosuch', with args beginning with: 'a' 'b' ", backend.ServerError{
			Code: "ERR", Message: "unknown command 'nosuch', with args beginning with: 'a' 'b' "}},
		{"lower case text", backend.ServerError{Code: "ERR", Message: "lower case text"}},
		{"", backend.ServerError{Code: "ERR"}},
		{"NOTOWNER held by line:3( of user_script:4:",
			backend.ServerError{Code: "NOTOWNER", Message: "held by line:3( of user_script:4:"}},

		// Redis 7 and Valkey 8.
		{"ERR NOTOWNER x script: " + hash + ", on @user_script:1.",
			backend.ServerError{Code: "ERR", Message: "NOTOWNER x", Line: 1}},
		{compiling + "user_script:3: '<eof>' expected near '1'", backend.ServerError{Code: "ERR", Line: 3,
			Message: compiling[4:] + "user_script:3: '<eof>' expected near '1'"}},

		// Valkey 9.1.
		{"NOTOWNER the script: on script: on @user_script:12.",
			backend.ServerError{Code: "NOTOWNER", Message: "the script: on", Line: 12}},

		// Redis 6.
		{"ERR Error running script (call to f_" + hash + "): @user_script:3: @user_script: 3: " +
			"Unknown Redis command called from Lua script", backend.ServerError{Code: "ERR", Line: 3,
			Message: "Unknown Redis command called from Lua script"}},

		// Miniredis.
		{compiling + "<string>:3: WRONGTYPE " + wrongKind + callFrame,
			backend.ServerError{Code: "WRONGTYPE", Message: wrongKind, Line: 3}},
		{compiling + "NOTOWNER x" + errFrame, backend.ServerError{Code: "ERR", Message: "NOTOWNER x"}},
		{compiling + ":3: cannot perform concat operation between nil and string" +
			" stack traceback:  :3: in main chunk  [G]: ?", backend.ServerError{Code: "ERR", Line: 3,
			Message: "cannot perform concat operation between nil and string"}},
		{compiling + ":16: Script attempted to access nonexistent global variable 'x' stack traceback:" +
			"  [G]: in function 'error'  :16: in function <:14>  :7: in main chunk  [G]: ?",
			backend.ServerError{Code: "ERR", Line: 7,
				Message: "Script attempted to access nonexistent global variable 'x'"}},
		{compiling + ":16: NOTOWNER x stack traceback:  [G]: in function 'error'  :16: in function <:14>  :7: in main chunk  [G]: ?",
			backend.ServerError{Code: "ERR", Line: 16, Message: "NOTOWNER x"}},
		{compiling + ":16: Script attempted to run" + errFrame,
			backend.ServerError{Code: "ERR", Line: 16, Message: "Script attempted to run"}},
		{compiling + "user_script line:3(column:10) near '1':   syntax error ",
			backend.ServerError{Code: "ERR", Line: 3,
				Message: compiling[4:] + "user_script line:3(column:10) near '1':   syntax error"}},
		{compiling + "<string> at EOF:   syntax error ", backend.ServerError{Code: "ERR",
			Message: compiling[4:] + "<string> at EOF:   syntax error "}},
	} {
		require.Equal(t, &c.want, backend.ParseServerError(c.text), c.text)
	}
}

// TestScriptErrorIsACode: an error of a script is matched by its code alone, also where it is wrapped.
func TestScriptErrorIsACode(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("take: %w", backend.ParseServerError("TOOMANY the bucket is too small"))
	require.ErrorIs(t, err, backend.ScriptError("TOOMANY"))
	require.NotErrorIs(t, err, backend.ScriptError("TOO"))
	require.NotErrorIs(t, err, backend.ScriptError("the bucket is too small"))
	require.EqualError(t, backend.ScriptError("TOOMANY"), "TOOMANY")
}

// The texts were taken from Valkey 8.0.1 and Redis 7.0.15.
func TestServerErrorKeyDenied(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"NOPERM No permissions to access a key",
		"ERR ACL failure in script: No permissions to access a key script: " + hash + ", on @user_script:1.",
		"NOPERM this user has no permissions to access one of the keys used as arguments",
		"ERR The user executing the script can't access at least one of the keys mentioned in the " +
			"command arguments script: " + hash + ", on @user_script:1.",
	} {
		require.ErrorIs(t, backend.ParseServerError(text), backend.ErrKeyDenied, text)
	}
	for _, text := range []string{
		"NOAUTH Authentication required.",
		"NOPERM User u has no permissions to run the 'eval' command",
		"NOPERM this user has no permissions to run the 'eval' command",
		"ERR ACL failure in script: User u has no permissions to run the 'pexpire' command script: " +
			hash + ", on @user_script:1.",
		"ERR ACL failure in script: No permissions to access a channel script: " + hash +
			", on @user_script:1.",
		"ERR The user executing the script can't run this command or subcommand script: " + hash +
			", on @user_script:1.",
	} {
		require.NotErrorIs(t, backend.ParseServerError(text), backend.ErrKeyDenied, text)
	}
}
