package servers_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
)

// TestNeedWithoutServer runs itself as a child process that finds no server.
func TestNeedWithoutServer(t *testing.T) {
	if os.Getenv("HASP_TEST_CHILD") == "1" {
		servers.Need(t, servers.Valkey)
		t.Fatal("found one")
	}
	t.Parallel()
	for _, c := range []struct{ require, want string }{
		{"", "--- SKIP: TestNeedWithoutServer"},
		{"1", "--- FAIL: TestNeedWithoutServer"},
	} {
		child := exec.Command(os.Args[0], "-test.run=^TestNeedWithoutServer$", "-test.v")
		child.Env = append(os.Environ(), "HASP_TEST_CHILD=1", "HASP_VALKEY_SERVER=/nowhere",
			"HASP_REQUIRE_SERVERS="+c.require)
		out, err := child.CombinedOutput()
		require.Equal(t, c.require == "1", err != nil)
		require.Contains(t, string(out), c.want)
		require.Contains(t, string(out), "no valkey-server on PATH, nor in HASP_VALKEY_SERVER")
	}
}
