//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives/inspect"
)

// TestList lists, as a user who may only read, the objects on all primaries of a cluster, and no key of other programs.
func TestList(t *testing.T) {
	t.Parallel()
	servers.Need(t, servers.Redis)
	c := servers.StartCluster(t, servers.Redis, 3, nil)
	for _, s := range c.Nodes {
		paste(t, s, "", 2)
	}
	on := func(key string, words ...string) {
		owner := must(c.Owner(backend.Slot(key)))(t)
		do(t, c.Nodes[owner], words...)
	}
	var want []string
	for i := range 30 {
		name := fmt.Sprint("app:", i)
		on(name, "HSET", name, "0123:1", "1")
		on(name, "SET", "redisson_lock_token:{"+name+"}", "7")
		on("free"+name, "SET", "redisson_lock_token:{free"+name+"}", "7")
		on("text"+name, "SET", "text"+name, "1")
		on("hash"+name, "HSET", "hash"+name, "field", "text")
		on("list"+name, "RPUSH", "list"+name, "element")
		on("zset"+name, "ZADD", "zset"+name, "9999999999999", "member:1")
		want = append(want, fmt.Sprint(i))
	}
	slices.Sort(want)
	list := func(args ...string) (names []string) {
		h := start(t, []string{"HASP_URL=redis://reader:PASSWORD@" + c.Nodes[0].Addr() + "," + c.Nodes[1].Addr()},
			append([]string{"list", "--output", "json"}, args...)...)
		require.Zero(t, h.code(t), h.errors)
		for line := range strings.Lines(h.output.String()) {
			var o inspect.Object
			require.NoError(t, json.Unmarshal([]byte(line), &o))
			require.Equal(t, inspect.Lock, o.Kind)
			names = append(names, o.Name)
		}
		slices.Sort(names)
		return names
	}
	require.Equal(t, want, list("--prefix", "app:"))
	require.Len(t, list(), 60, "also those that are free")
	require.Equal(t, []string{"app:7", "freeapp:7"}, list("*:7"))
}
