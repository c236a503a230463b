//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/conformance/servers/proxy"
)

// sound are the settings that no finding is about.
const sound = "appendonly yes appendfsync everysec save  maxmemory 0 maxmemory-policy noeviction timeout 0 tcp-keepalive 300 " +
	"min-replicas-to-write 0"

// TestCheckFindsSpoiledServers: the check prints a line for what is wrong, and no other that is not ok.
func TestCheckFindsSpoiledServers(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	slow := regexp.MustCompile(`^warn +round trip`) // Of a busy machine.
	all, secret := "~* &* +@all", "HASP_URL=redis://app:secret@"+server.Addr()
	for _, c := range []struct {
		config, user, args string
		code               int
		line               string // a pattern of each line that is not ok
	}{
		{},
		{args: "--prefix app: x"},
		{user: all},
		{user: "~* &* +@all -info -config", line: `unknown +(maxmemory|persistence|min-replicas|timeout|tcp-keepalive)`},
		{config: "maxmemory 100mb maxmemory-policy allkeys-lru", code: 1, line: `FAIL +maxmemory-policy +allkeys-lru .*an evicted key`},
		{config: "maxmemory 100mb maxmemory-policy volatile-ttl", code: 1, line: `FAIL +maxmemory-policy +volatile-ttl `},
		{config: "maxmemory-policy allkeys-lru", line: `warn +maxmemory-policy +allkeys-lru .*once maxmemory is set`},
		{config: "maxmemory 1", code: 1, line: `FAIL +maxmemory +1 .*full`},
		{config: "appendonly no", line: `warn +persistence +save none .*frees all locks`},
		{config: "appendonly no save 3600␣1", line: `warn +persistence +save 3600 1 .*latest`},
		{config: "appendfsync no", line: `warn +persistence +appendfsync no .*everysec`},
		{config: "min-replicas-to-write 1", code: 1, line: `FAIL +min-replicas-to-write +1 .*each write`},
		{config: "timeout 1", line: `warn +timeout +1 .*idle`},
		{config: "tcp-keepalive 0", line: `warn +tcp-keepalive +0 `},
		{user: all + " -publish", code: 1, line: `FAIL +right +\+publish +needed by elect, .*lock.* \+publish `},
		{user: all + " -subscribe", code: 1, line: `FAIL +right +\+subscribe `},
		{user: all + " -pexpire", code: 1, line: `FAIL +right +\+pexpire `},
		{user: "~* +@all", code: 1, line: `FAIL +right +&\S+ +needed by `},
		{user: "~app:* ~redisson_lock_token:{app:* ~hasp_lock_holder:{app:* &* +@all", args: "--kind lock,elect app:x"},
		{user: "~app:* &* +@all", args: "--kind lock app:x", code: 1, line: `FAIL +right +~redisson_lock_token:{app:\* +needed by lock:`},
		{args: "--kind latch,key", code: 64}, {args: "--output xml", code: 64}, {args: "x y", code: 64}, {args: "x␤", code: 64},
	} {
		set(t, server, sound)
		set(t, server, c.config)
		url := onServer(server.Addr())
		if c.user != "" {
			do(t, server, append(strings.Fields("ACL SETUSER app reset on >secret"), strings.Fields(c.user)...)...)
			url = secret
		}
		output := checked(t, c.code, url, words(c.args)...)
		spoiled := regexp.MustCompile(`(?m)^(FAIL|warn|unknown).*\n`).FindAllString(output, -1)
		spoiled = slices.DeleteFunc(spoiled, slow.MatchString)
		require.Equal(t, c.line != "", len(spoiled) > 0, "%+v: %s", c, output)
		for _, line := range spoiled {
			require.Regexp(t, "^"+c.line, line)
		}
	}
	require.Zero(t, must(must(server.Do("DBSIZE"))(t).Int())(t), "the check leaves nothing")
}

// set sets a server's configuration, by names and values.
func set(t *testing.T, s *servers.Server, config string) {
	t.Helper()
	if config != "" {
		all := strings.Split(config, " ")
		for i := range all {
			all[i] = strings.ReplaceAll(all[i], "␣", " ")
		}
		do(t, s, append([]string{"CONFIG", "SET"}, all...)...)
	}
}

// checked runs a check, and returns its output.
func checked(t *testing.T, code int, env string, args ...string) string {
	t.Helper()
	return ended(t, code, env, append([]string{"check"}, args...)...).output.String()
}

// TestCheckReadsVersionAndClock: a link gives a server another version, and another time.
func TestCheckReadsVersionAndClock(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	edited := func(command, what string, edit func(string) string) string {
		link := proxy.Start(t, server.Addr(), nil)
		link.Answer(func(words []string) bool { return words[0] == command }, true, func(reply string, _ bool) string {
			return regexp.MustCompile(what).ReplaceAllStringFunc(reply, edit)
		})
		return checked(t, 1, onServer(link.Addr()))
	}
	old := edited("INFO", `redis_version:\d`, func(string) string { return "redis_version:6" })
	require.Regexp(t, `(?m)^FAIL +version +6\..*too old`, old)
	late := edited("TIME", `\d{10}`, func(seconds string) string { return strconv.Itoa(must(strconv.Atoi(seconds))(t) - 30) })
	require.Regexp(t, `(?m)^FAIL +clock +-\d+.*NTP`, late)
}

// TestCheckOfReplicas: a primary names its replicas, and a replica is no primary.
func TestCheckOfReplicas(t *testing.T) {
	t.Parallel()
	servers.Need(t, servers.Redis)
	r := servers.StartReplicated(t, servers.Redis, 1, nil)
	text := checked(t, 0, onServer(r.Nodes[0].Addr()))
	require.Regexp(t, `(?m)^ok +node +replica +`+r.Nodes[1].Addr(), text)
	require.Regexp(t, `(?m)^warn +min-replicas-to-write +0 +`+r.Nodes[0].Addr(), text)
	require.Regexp(t, `(?m)^FAIL +node .*READONLY`, checked(t, 1, onServer(r.Nodes[1].Addr())))
	r.Nodes[1].Kill()
	require.Regexp(t, `(?m)^ok +node +primary`, checked(t, 0, onServer(r.Nodes[0].Addr())))
}

// TestCheckOfClusters: a check asks each node, and finds those that are away.
func TestCheckOfClusters(t *testing.T) {
	t.Parallel()
	servers.Need(t, servers.Valkey)
	c := servers.StartCluster(t, servers.Valkey, 3, &servers.ClusterOptions{
		Config: map[string]string{"cluster-require-full-coverage": "no"},
	})
	env := onServer(c.Nodes[0].Addr() + "," + c.Nodes[1].Addr())
	for line := range bytes.Lines([]byte(checked(t, 0, env, "--output", "json"))) {
		var f struct {
			State, What, Value, Link string
			Nodes                    []string
		}
		require.NoError(t, json.Unmarshal(line, &f))
		require.NotEqual(t, "FAIL", f.State)
		if f.What == "maxmemory-policy" {
			require.Len(t, f.Nodes, 3)
		}
	}
	for _, node := range c.Nodes { // Each has an access list of its own.
		do(t, node, "ACL", "SETUSER", "default", "-pexpire")
		require.Regexp(t, `(?m)^FAIL +right +\+pexpire`, checked(t, 1, env, "--kind", "lock"))
		do(t, node, "ACL", "SETUSER", "default", "+pexpire")
	}
	for _, node := range c.Nodes {
		do(t, node, "CLUSTER", "DELSLOTS", "1")
	}
	c.Nodes[2].Kill()
	text := checked(t, 1, env, "--kind", "lock")
	require.Regexp(t, `(?m)^FAIL +node +primary +`+c.Nodes[2].Addr()+` +no answer`, text)
	require.Regexp(t, `(?m)^FAIL +slots +16383 `, text)
}

// TestCheckOfSentinel: a check asks the sentinels that the URL names, too.
func TestCheckOfSentinel(t *testing.T) {
	t.Parallel()
	servers.Need(t, servers.Redis)
	s := servers.StartSentinel(t, servers.Redis, 1, nil)
	url := onServer(strings.Join(s.Addrs(), ",")) + "?sentinel_master=" + servers.MasterName
	require.Regexp(t, `(?m)^ok +node +sentinel +\S+ \S+ \S+ +\(`, checked(t, 0, url))
	s.Sentinels[1].Kill()
	text := checked(t, 0, url)
	require.Regexp(t, `(?m)^warn +node +sentinel +`+s.Sentinels[1].Addr()+` +no answer`, text)
	require.Regexp(t, `(?m)^ok +node +replica +`+s.Nodes[1].Addr(), text)
}
