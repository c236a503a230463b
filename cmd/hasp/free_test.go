//go:build unix

package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
)

// TestForceUnlock frees a lock of each kind from its holder. A revoked lock is held until its lease ends.
func TestForceUnlock(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	for kind, line := range map[string]string{
		"lock": "lock lock", "mutex": "lock mutex --kind mutex", "fair": "lock fair --kind fair", "read": "read read", "write": "write write",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			run := func(args ...string) (code int, output string) {
				h := start(t, []string{onServer(server.Addr())}, args...)
				return h.code(t), h.output.String()
			}
			free := append([]string{"force-unlock", "--yes", kind}, strings.Fields("--kind "+kind)...)
			holder, owner := holding(t, server, words(line))
			for _, flags := range []string{"--now --if-owner " + owner, "--now"} {
				code, _ := run(append(free, strings.Fields(flags)...)...)
				require.Equal(t, []int{0, 79}, []int{code, holder.code(t)}, "%s", holder.errors)
				code, _ = run(append(free, strings.Fields(flags)...)...)
				require.Equal(t, 1, code)
				holder, owner = holding(t, server, words(line))
			}
			began, left := time.Now(), time.Duration(0)
			for _, flags := range []string{"--if-owner " + owner, "--if-owner " + owner, ""} {
				code, output := run(append(free, strings.Fields(flags)...)...)
				rest, err := time.ParseDuration(strings.TrimSpace(strings.TrimPrefix(output, "free in ")))
				require.Equal(t, []any{0, nil}, []any{code, err})
				left = rest
			}
			_, seen := run("inspect", kind)
			code, _ := run(append(words(strings.Replace(line, "read ", "write ", 1)), "-n", "--", "true")...)
			if time.Since(began) < left { // Else the lease may have ended before.
				require.Regexp(t, `\n  holder    revoked, ((read|write), )?lease [0-9.]+m?s\n`, seen)
				require.Equal(t, 75, code)
			}
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
