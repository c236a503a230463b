package embedded_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
)

// TestLuaIsAServers: scripts get what they get on a server, except where testdata/lua.txt says otherwise.
// The tests of conformance/servers compare that file with servers.
func TestLuaIsAServers(t *testing.T) {
	t.Parallel()
	show, lines, _ := strings.Cut(readFile(t, "testdata/lua.txt"), "\n\n")
	for line := range strings.Lines(lines) {
		code, result, found := strings.Cut(strings.TrimSpace(line), " --> ")
		if !found {
			continue // a title
		}
		result, here, differs := strings.Cut(result, " --- here ")
		if !strings.Contains(code, "return ") {
			code = "return " + code
		}
		reply, err := embedded.NewServer().Do("EVAL", show+"\nreturn shown(pcall(function() "+code+" end))",
			"1", "k", "3", "1e3", "abc", "0x10", "010")
		require.NoError(t, err, code)
		got, err := reply.Text()
		require.NoError(t, err, code)
		same := slices.Contains(strings.Split(result, " or "), got)
		if differs {
			require.Equal(t, here, got, code)
			require.False(t, same, "no longer differs: %s", code)
		} else {
			require.True(t, same, "%s: %s instead of %s", code, got, result)
		}
	}
}
