package servers_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
)

// TestLuaResults: servers give scripts what the tests of the embedded server expect.
func TestLuaResults(t *testing.T) {
	file := must(os.ReadFile("../../backend/embedded/testdata/lua.txt"))(t)
	show, lines, _ := strings.Cut(string(file), "\n\n")
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		s := servers.Start(t, kind, nil)
		for line := range strings.Lines(lines) {
			code, results, found := strings.Cut(strings.TrimSpace(line), " --> ")
			if !found {
				continue
			}
			if !strings.Contains(code, "return ") {
				code = "return " + code
			}
			require.NoError(t, errOf(s.Do("FLUSHALL")))
			reply, err := s.Do("EVAL", show+"\nreturn shown(pcall(function() "+code+" end))",
				"1", "k", "3", "1e3", "abc", "0x10", "010")
			require.NoError(t, err, code)
			got, err := reply.Text()
			require.NoError(t, err, code)
			results, _, _ = strings.Cut(results, " --- here ")
			require.Contains(t, strings.Split(results, " or "), got, code)
		}
	})
}
