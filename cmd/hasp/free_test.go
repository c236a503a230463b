//go:build unix

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
)

// TestFreed: a lock is freed from its holder, of each kind, and the holder's hasp ends its command.
func TestFreed(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	for kind, of := range map[string]struct{ hold, free []string }{
		"Lock":  {[]string{"lock", "l"}, []string{"l"}},
		"Mutex": {[]string{"lock", "m", "--kind", "mutex"}, []string{"m", "--kind", "mutex"}},
		"Fair":  {[]string{"lock", "f", "--kind", "fair"}, []string{"f", "--kind", "fair"}},
		"Read":  {[]string{"read", "r"}, []string{"r", "--kind", "read"}},
		"Write": {[]string{"write", "w"}, []string{"w", "--kind", "write"}},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			holder, owner := holding(t, server, of.hold)
			requireFreed(t, server, holder, append([]string{"force-unlock", "--now", "--if-owner", owner, "--yes"}, of.free...))
			holder, _ = holding(t, server, of.hold)
			requireFreed(t, server, holder, append([]string{"force-unlock", "--now", "--yes"}, of.free...))
		})
	}
}

// TestRevoked: a lock that is taken from its holder is not free, even if it is taken again.
func TestRevoked(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	for kind, hold := range map[string][]string{
		"lock": {"lock", "lock"}, "mutex": {"lock", "mutex", "--kind", "mutex"}, "fair": {"lock", "fair", "--kind", "fair"},
		"read": {"read", "read"}, "write": {"write", "write"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			holder, owner := holding(t, server, hold)
			for _, by := range [][]string{{"--if-owner", owner}, {"--if-owner", owner}, nil} {
				h := start(t, []string{onServer(server.Addr())}, append([]string{"force-unlock", kind, "--kind", kind, "--yes"}, by...)...)
				require.Zero(t, h.code(t), "%s", h.errors)
				require.Regexp(t, `^free in [0-9.]+m?s\n$`, h.output.String())
			}
			shown := start(t, []string{onServer(server.Addr())}, "inspect", kind)
			require.Zero(t, shown.code(t), "%s", shown.errors)
			require.Regexp(t, `\n  holder    revoked, ((read|write), )?lease [0-9.]+m?s\n`, shown.output.String())
			if hold[0] == "read" {
				hold[0] = "write"
			}
			waiter := start(t, []string{onServer(server.Addr())}, append(hold, "-n", "--", "true")...)
			require.Equal(t, 75, waiter.code(t), "%s", waiter.errors)
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

// requireFreed frees the lock of a holder, whose command ends.
func requireFreed(t *testing.T, s *servers.Server, holder *hasp, args []string) {
	t.Helper()
	h := start(t, []string{onServer(s.Addr())}, args...)
	require.Zero(t, h.code(t), "%s", h.errors)
	require.Equal(t, 79, holder.code(t), "%s", holder.errors)
	again := start(t, []string{onServer(s.Addr())}, args...)
	require.Equal(t, 1, again.code(t), "%s", again.errors)
}
