//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
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

// TestWatch watches, as a user who may only read and subscribe, how a mutex goes from one hasp to another.
func TestWatch(t *testing.T) {
	t.Parallel()
	for _, kind := range []servers.Kind{servers.Redis, servers.Valkey} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			server := servers.Start(t, kind, nil)
			rights := []string{"on", "nopass", "~*", "resetchannels", "-@all", "+@read", "+evalsha_ro", "+script|load", "+time", "+hello", "+ping", "+subscribe", "+unsubscribe"}
			for user, channels := range map[string]string{"deaf": "&other", "reader": "&hasp_mutex:*"} {
				do(t, server, append(append([]string{"ACL", "SETUSER", user}, rights...), channels)...)
			}
			watch := start(t, []string{"HASP_URL=redis://reader:any@" + server.Addr()}, "watch", "x", "--output", "json")
			deaf := start(t, []string{"HASP_URL=redis://deaf:any@" + server.Addr()}, "watch", "x", "y")
			await := func(n int) []string { t.Helper(); return awaitEvents(t, watch, n) }
			require.Equal(t, []string{"gone "}, await(1))
			eventually(t, func() bool { return strings.Count(deaf.output.String(), "\tgone\n") == 2 }) // or it may begin too late for the first events
			hold := []string{"lock", "x", "--kind", "mutex", "--", "sleep", "1000"}
			first := start(t, []string{onServer(server.Addr())}, hold...)
			one := strings.TrimPrefix(await(2)[1], "acquired ")
			second := start(t, []string{onServer(server.Addr())}, hold...)
			two := strings.TrimPrefix(await(3)[2], "waiting ")
			polled := func(kind, owner string) {
				eventually(t, func() bool { return strings.Contains(deaf.output.String(), "\tx\t"+kind+"\t"+owner+"\n") })
			}
			polled("waiting", two)
			first.signal(t, syscall.SIGINT)
			await(4)
			polled("handed over", two)
			second.signal(t, syscall.SIGINT)
			require.Equal(t, []string{"gone ", "acquired " + one, "waiting " + two, "handed over " + two, "released " + two}, await(5))
			require.NotEqual(t, one, two)

			polled("released", two)
			require.Regexp(t, `(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\ty\tgone$`, deaf.output.String())
			eventually(t, func() bool { return deaf.errors.String() != "" })
			require.Regexp(t, `^hasp: watch object "x" without messages: .*NOPERM[^\n]*\n$`, deaf.errors.String())
			require.Empty(t, watch.errors.String())
			for _, h := range []*hasp{watch, deaf} {
				h.signal(t, syscall.SIGINT)
				require.Equal(t, -1, h.code(t))
			}
		})
	}
}

// awaitEvents waits until there are so many lines, and returns their events. It leaves out gaps, of messages that came
// before the subscription.
func awaitEvents(t *testing.T, h *hasp, n int) (events []string) {
	t.Helper()
	eventually(t, func() bool {
		events = nil
		for line := range strings.Lines(h.output.String()) {
			var e struct{ Kind, Owner string }
			if json.Unmarshal([]byte(line), &e) == nil && e.Kind != "gap" {
				events = append(events, e.Kind+" "+e.Owner)
			}
		}
		return len(events) >= n
	})
	return events
}
