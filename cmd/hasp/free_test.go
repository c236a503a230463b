//go:build unix

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
)

// TestForceUnlock: a lock of each kind is freed from its holder, and the holder's hasp ends its command. One that is revoked
// is not free, even if that is done again.
func TestForceUnlock(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	for kind, line := range map[string]string{
		"lock": "lock lock", "mutex": "lock mutex --kind mutex", "fair": "lock fair --kind fair", "read": "read read", "write": "write write",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			hasp := func(code int, args ...string) string {
				h := start(t, []string{onServer(server.Addr())}, args...)
				require.Equal(t, code, h.code(t), "%s", h.errors)
				return h.output.String()
			}
			free := append([]string{"force-unlock", "--yes", kind}, strings.Fields("--kind "+kind)...)
			holder, owner := holding(t, server, words(line))
			for _, flags := range []string{"--now --if-owner " + owner, "--now"} {
				_ = hasp(0, append(free, strings.Fields(flags)...)...)
				require.Equal(t, 79, holder.code(t), "%s", holder.errors)
				_ = hasp(1, append(free, strings.Fields(flags)...)...)
				holder, owner = holding(t, server, words(line))
			}
			for _, flags := range []string{"--if-owner " + owner, "--if-owner " + owner, ""} {
				require.Regexp(t, `^free in [0-9.]+m?s\n$`, hasp(0, append(free, strings.Fields(flags)...)...))
			}
			require.Regexp(t, `\n  holder    revoked, ((read|write), )?lease [0-9.]+m?s\n`, hasp(0, "inspect", kind))
			_ = hasp(75, append(words(strings.Replace(line, "read ", "write ", 1)), "-n", "--", "true")...)
			require.Equal(t, 79, holder.code(t), "%s", holder.errors)
		})
	}
}

// holding returns a process that holds a lock, and its owner.
func holding(t *testing.T, s *servers.Server, args []string) (holder *hasp, owner string) {
	t.Helper()
	work := newShared(t)
	args = append(args, "--lease", kept, "--", os.Args[0])
	holder = start(t, append(work.env("plain"), onServer(s.Addr())), args...)
	work.await(t, 1)
	return holder, strings.Fields(work.owners(t)[0])[0]
}
