package servers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
)

func TestRecord(t *testing.T) {
	t.Parallel()
	one, two := servers.Start(t, servers.Redis, nil), servers.Start(t, servers.Redis, nil)
	set(t, one, "before", "")
	stop, err := servers.Record(one, two)
	require.NoError(t, err)
	set(t, one, "key", "a\x00\r\n\"b")
	_, err = two.Do("EVAL", "return redis.call('incr', KEYS[1])", "1", "n")
	require.NoError(t, err)
	commands, err := stop()
	require.NoError(t, err)
	require.Equal(t, [][]string{
		{"SET", "key", "a\x00\r\n\"b"},
		{"EVAL", "return redis.call('incr', KEYS[1])", "1", "n"},
	}, commands)

	two.Kill()
	_, err = servers.Record(one, two)
	require.Error(t, err)
}

func TestMonitorWords(t *testing.T) {
	t.Parallel()
	words, err := servers.MonitorWords(
		`1339518083.107412 [0 127.0.0.1:60866] "SET" "a\x00\r\n\"b" ""`)
	require.NoError(t, err)
	require.Equal(t, []string{"SET", "a\x00\r\n\"b", ""}, words)
	words, err = servers.MonitorWords(`1339518083.107412 [0 lua] "SET" "a" "b"`)
	require.NoError(t, err)
	require.Empty(t, words)
	_, err = servers.MonitorWords("OK")
	require.Error(t, err)
}
