//go:build unix

package main

import (
	"encoding/json"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
)

// TestInspect inspects, as a user who may only read, what another hasp holds.
func TestInspect(t *testing.T) {
	t.Parallel()
	for _, kind := range []servers.Kind{servers.Redis, servers.Valkey} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			server := servers.Start(t, kind, nil)
			do(t, server, "ACL", "SETUSER", "reader", "on", "nopass", "~*", "-@all", "+@read", "+evalsha_ro", "+script|load", "+time", "+hello", "+ping")
			env := []string{"HASP_URL=redis://reader:any@" + server.Addr()}
			holder := start(t, []string{onServer(server.Addr())}, "lock", "x", "--metadata", "nightly\nexport", "--", "sleep", "1000")
			awaitKey(t, server, "x")
			do(t, server, "RPUSH", "list", "of another program")

			h := start(t, env, "inspect", "x", "list", "none")
			require.Zero(t, h.code(t), "%s", h.errors)
			require.Regexp(t, `(?s)^x: lock \(or election\)\n  holder    \S+, on \S+, process \d+, since \S+, lease \S+\n  metadata  "nightly\\nexport"\n`+
				`  token     \d+\nlist: unknown\n$`, h.output.String())

			h = start(t, env, "inspect", "x", "--output", "json")
			require.Zero(t, h.code(t), "%s", h.errors)
			var object struct {
				Name, Kind string
				Holders    []struct{ Owner, Metadata string }
			}
			require.NoError(t, json.Unmarshal([]byte(h.output.String()), &object))
			require.Equal(t, []string{"x", "lock", "nightly\nexport"}, []string{object.Name, object.Kind, object.Holders[0].Metadata})

			holder.signal(t, syscall.SIGINT)
			holder.code(t)
		})
	}
}
