package embedded_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
)

const coveredScript = `---@include lib.lua
local a = ARGV[1]
if a == 'x' then
  a = a ..
    'y'
  for i = 1, 3 do a = a .. i end
else
  local function f()
    return 'no'
  end
  return f()
end
return a
`

// TestCoverLua is not parallel, since one profile at a time is written.
func TestCoverLua(t *testing.T) { //nolint:paralleltest // See above.
	folder, server := t.TempDir(), embedded.NewServer()
	const made = "local k = KEYS[1]\nreturn k"
	sha := must(server.Do("EVAL", "return redis.sha1hex(ARGV[1])", "0", made))(t)
	text := must(sha.Text())(t)
	for name, text := range map[string]string{
		"ran.lua": coveredScript, "idle.lua": "\nreturn 1 -- never\n", "lib.lua": "return 1\n",
		"made.lua": "---@key k\nreturn k\n", "made.lua.go": "\n\tSHA1: \"" + text + "\",\n",
		"get.lua": "return 2\n", "get.lua.go": "\n\tCommand: \"GET\",\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	profile := filepath.Join(folder, "lua.out")
	code := embedded.CoverLua(func() int {
		for range 2 {
			require.NoError(t, errOf(embedded.NewServer().Do("EVAL", coveredScript, "0", "x")))
			require.NoError(t, errOf(server.Do("EVAL", made, "1", "k")))
		}
		return 3
	}, folder, profile)
	require.Equal(t, 3, code)
	want := "mode: count\nidle.lua:2.1,2.18 1 0\nmade.lua:2.1,2.9 1 2\nran.lua:2.1,2.18 1 2\nran.lua:3.1,3.17 1 2\n" +
		"ran.lua:4.1,4.11 1 2\nran.lua:6.1,6.33 1 2\nran.lua:8.1,8.21 1 0\nran.lua:9.1,9.16 1 0\nran.lua:11.1,11.13 1 0\n" +
		"ran.lua:13.1,13.9 1 2\n"
	require.Equal(t, want, strings.ReplaceAll(readFile(t, profile), folder+string(filepath.Separator), ""))
	none := func() int { return 0 }
	require.Equal(t, 0, embedded.CoverLua(none, folder, ""))
	require.Equal(t, 1, embedded.CoverLua(none, folder, filepath.Join(folder, "none", "lua.out")))
}
