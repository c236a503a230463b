package main

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/luagen/internal/check"
	"github.com/hasp-go/hasp/luagen/internal/parse"
	"github.com/hasp-go/hasp/luagen/internal/serverurl"
)

// TestTablesAreOfServers: the committed tables are what "luagen commands" prints for a server of
// their version.
func TestTablesAreOfServers(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, c *client) {
		table, _ := exits(t, 0, "commands", "-url", "redis://"+c.addr)
		first := strings.Fields(table)[1:3]
		server, version := first[0], strings.Split(first[1], ".")
		committed := read(t, "internal", "check", "commands",
			server+"-"+strings.Join(version[:2], ".")+".txt")
		if want := strings.Fields(committed)[1:3]; !slices.Equal(want, first) {
			t.Skipf("the table is of %s, the server is %s", want, first)
		}
		require.Equal(t, committed, table)
	})
}

func TestCommandsWithoutServer(t *testing.T) {
	t.Parallel()
	out, errs := exits(t, 1, "commands", "-url", "redis://127.0.0.1:1")
	require.Empty(t, out)
	require.Contains(t, errs, "luagen: dial tcp 127.0.0.1:1")
}

// TestCommandsAsUser: the variable has the user, the password and the encryption. Not parallel: it sets the variable.
func TestCommandsAsUser(t *testing.T) {
	c := startServer(t, "redis-server")
	require.NoError(t, errOf(c.do("ACL", "SETUSER", "reader", "on", ">a/b", "+command", "+info", "+eval")))
	require.NoError(t, errOf(c.do("ACL", "SETUSER", "default", "-@all")))
	t.Setenv(serverurl.Variable, "redis://reader:a%2Fb@"+c.addr)
	out, _ := exits(t, 0, "commands")
	require.Contains(t, out, "\nget 2 string index,1:range,0,1,0 ")
	require.NotContains(t, out, "cjson")
	for text, want := range map[string]string{
		"redis://reader:other@" + c.addr: "luagen: WRONGPASS ",
		"redis://" + c.addr:              "luagen: NOPERM ",
	} {
		t.Setenv(serverurl.Variable, text)
		_, errs := exits(t, 1, "commands")
		require.Contains(t, errs, want)
	}
}

// TestCommandsEncrypted: the first byte that a server gets is that of a TLS handshake.
func TestCommandsEncrypted(t *testing.T) {
	t.Parallel()
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	first := make([]byte, 1)
	done := make(chan error)
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			_, err = conn.Read(first)
			err = errors.Join(err, conn.Close(), listener.Close())
		}
		done <- err
	}()
	exits(t, 1, "commands", "-url", "rediss://"+listener.Addr().String())
	require.NoError(t, <-done)
	require.Equal(t, []byte{22}, first)
}

// keyCalls are calls whose words are all different, so a place is known by its word.
var keyCalls = []string{
	"get a", "set a b", "mset a b c d", "msetnx a b c d", "del a b c", "exists a", "rename a b",
	"rpoplpush a b", "lmove a b left right", "sinterstore a b c", "zunionstore a 2 b c",
	"zunionstore a 2 b c weights 1 3", "zinter 2 a b", "zintercard 2 a b limit 5",
	"zrangestore a b 0 1", "xread count 2 streams a b 0-0 0-1", "xread streams a 0-0",
	"xreadgroup group g c streams a b x y", "xgroup create a g 0", "xinfo stream a",
	"xadd a * f v", "bitop and a b c", "geosearchstore a b frommember m byradius 1 m",
	"georadius_ro a 1 2 3 m", "pfmerge a b c", "object encoding a", "hset a f v", "lmpop 2 a b left",
	"smove a b m", "sort_ro a", "copy a b", "lcs a b", "eval_ro s 0", "getex a", "zadd a 1 m",
	"publish a b", "spublish a b", "time", "ping a", "echo a", "touch a b", "unlink a b",
	"pfcount a b", "sdiff a b c", "memory usage a",
}

// TestKeyPlaces: the words that luagen takes for keys are those that the server does.
func TestKeyPlaces(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, c *client) {
		for _, call := range keyCalls {
			words := strings.Fields(call)
			reply, err := c.do(append([]string{"COMMAND", "GETKEYS"}, words...)...)
			var want []string
			if err == nil {
				want = texts(reply)
			} else {
				require.Regexp(t, "no key arguments|number of arguments for 'command", err.Error(), call)
			}
			// The server counts a sharded channel among the keys; for luagen it is none.
			if words[0] == "spublish" {
				want = nil
			}
			require.Equal(t, want, flaggedWords(t, words), call)
		}
	})
}

// flaggedWords returns the words that are found to be no declared keys.
func flaggedWords(t *testing.T, words []string) []string {
	t.Helper()
	var src strings.Builder
	src.WriteString("---@key unused string\nredis.call(\n")
	for i, word := range words {
		if i > 0 {
			src.WriteString(",\n")
		}
		fmt.Fprintf(&src, "%q", word)
	}
	src.WriteString(")\n")
	_, findings := examine("in.lua", []byte(src.String()))
	var flagged []string
	for _, f := range findings {
		switch f.Rule {
		case check.Key:
			flagged = append(flagged, words[f.Pos.Line-3])
		case check.Command:
			// A command that scripts may not call has no keys for luagen.
			require.Contains(t, f.Msg, "does not allow")
		}
	}
	slices.SortStableFunc(flagged, func(a, b string) int {
		return slices.Index(words, a) - slices.Index(words, b)
	})
	return slices.Compact(flagged)
}

// wordCalls are calls whose words a server takes, or not: those begin with "!".
var wordCalls = []string{
	"set a v px 5 nx", "set a v nx get", "!set a v nx 5", "!set a v nx xx", "!set a v px", "!set a v 5", "!set a v ex 5 px 5",
	"zadd z 1 m", "zadd z nx ch 1 m 2 n", "!zadd z m 1 n", "!zadd z nx 1", "zadd z xx +inf m", "zcount z (5 +inf",
	"hset h f v", "!hset h f v g", "mset a v b w", "!mset a v b", "expire a 5 nx", "!expire a five", "!expire a 5 ny",
	"zrange z 0 -1 withscores", "!zrange z 0 -1 withscore", "zrange z 5 0 rev byscore limit 0 1", "!zrange z 0 1 byscore limit 0",
	"zincrby z 0.5 m", "zunionstore z 2 z y weights 1 0.5", "xadd s maxlen ~ 9 * f v", "!xadd s maxlen * f v", "!xadd s * f",
	"bitfield a get u8 #1", "bitfield a overflow sat incrby u8 0 1", "!bitfield a get u8", "sort l by n get # desc alpha",
	"!sort l descending", "lpos l a rank -1", "hscan h 0 count 5", "!hscan h 0 size 5", "getex a persist", "!getex a 5",
	"geosearch z byradius 1 m fromlonlat 1 2 asc", "!geosearch z byradius 1 m", "copy a b replace", "xread count 1 streams s 0",
	"linsert l before a b", "!linsert l near a b", "lmove l l left right", "!lmove l l left up", "touch a b",
}

// TestForms: luagen takes the words that the server takes.
func TestForms(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, c *client) {
		for _, call := range wordCalls {
			words, refused := strings.CutPrefix(call, "!")
			_, err := c.do(strings.Fields(words)...)
			complains := err != nil && !strings.Contains(err.Error(), "WRONGTYPE")
			require.Equal(t, refused, complains, "%s: %v", call, err)
			src := "return redis.call('" + strings.ReplaceAll(words, " ", "', '") + "')\n"
			_, findings := examine("in.lua", []byte(src))
			found := slices.ContainsFunc(findings, func(f parse.Finding) bool { return f.Rule == check.Command })
			require.Equal(t, refused, found, "%s: %v", call, findings)
		}
	})
}
