package goredisbackend_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/adapter/testdata/adaptertest"
	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
)

// answers has the answers to commands by their names.
type answers map[string]string

func (a answers) to(name string) string { return a[name] }

// refusals are error replies and nulls to each command that sets up a connection.
var refusals = map[string]struct {
	answers answers
	text    string
}{
	"AUTH": {
		answers{"HELLO": "-WRONGPASS bad pair\r\n", "AUTH": "-WRONGPASS bad pair\r\n"}, "WRONGPASS bad pair",
	},
	"AUTH of null":       {answers{"HELLO": "-ERR unknown command\r\n", "AUTH": "$-1\r\n"}, "redis: nil"},
	"SELECT":             {answers{"SELECT": "-ERR DB index is out of range\r\n"}, "DB index is out of range"},
	"SELECT of a BUSY":   {answers{"SELECT": "-BUSY Redis is busy\r\n"}, "BUSY Redis is busy"},
	"SELECT of null":     {answers{"SELECT": "_\r\n"}, "redis: nil"},
	"CLIENT":             {answers{"CLIENT": "-NOPERM no permissions\r\n"}, "NOPERM no permissions"},
	"CLIENT of READONLY": {answers{"CLIENT": "-READONLY a replica\r\n"}, "READONLY a replica"},
}

// TestRefusedConnection: a server that refuses what sets up a connection has answered no call, and executed none.
func TestRefusedConnection(t *testing.T) {
	t.Parallel()
	for name, refused := range refusals {
		for kind, options := range map[string]redis.Options{
			"": {}, "RESP2": {Protocol: 2}, "ContextTimeoutEnabled": {ContextTimeoutEnabled: true}, "hook": {},
		} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				s := newFakeServer(t, ok)
				s.SetUp(refused.answers.to)
				options.Addr, options.Password, options.DB, options.ClientName = s.Addr, "one", 1, "name"
				client := closing(t, redis.NewClient(&options))
				if kind == "hook" {
					client.AddHook(hook(func(cmd redis.Cmder) { _ = fmt.Sprint(cmd, cmd.Args()) })) // As those for tracing do.
				}
				adaptertest.Refused(t, refusedOver(t, client), s, refused.text)
			})
		}
	}
}

// TestRefusedConnectionOfCluster: there a command that is sent alone is led to its node by its words.
func TestRefusedConnectionOfCluster(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"AUTH", "AUTH of null", "CLIENT"} {
		one := node(t, ok)
		one.SetUp(refusals[name].answers.to)
		client := cluster(t, one.Addr, one.Addr, one.Addr, redis.ClusterOptions{Password: "one", ClientName: "name"})
		adaptertest.Refused(t, refusedOver(t, client), one, refusals[name].text)
	}
}

// TestRefusedAfterRedirect: the first node's MOVED is no reply of the node that refuses the connection.
func TestRefusedAfterRedirect(t *testing.T) {
	t.Parallel()
	two := node(t, ok)
	two.SetUp(refusals["CLIENT"].answers.to)
	one := node(t, func([]string) string { return "-MOVED 1 " + two.Addr + "\r\n" })
	one.SetUp(answers{"CLIENT": "+OK\r\n"}.to)
	client := cluster(t, one.Addr, one.Addr, one.Addr, redis.ClusterOptions{ClientName: "name"})
	_, err := refusedOver(t, client).Run(t.Context(), read, []string{"b"}, nil)
	adaptertest.NotExecuted(t, err, "NOPERM no permissions")
}

// TestRefusedConnectionSaysNothingOfSharding: its code is that of a server that does not know the subcommand.
func TestRefusedConnectionSaysNothingOfSharding(t *testing.T) {
	t.Parallel()
	one := node(t, ok)
	one.SetUp(answers{"CLIENT": "-ERR unknown subcommand\r\n"}.to)
	client := cluster(t, one.Addr, one.Addr, one.Addr, redis.ClusterOptions{ClientName: "name"})
	require.ErrorContains(t, adaptertest.ErrOf(goredisbackend.New(client, nil)), "refused the connection: ERR unknown subcommand")
}

// TestLoadOnRefusedConnection: pipelines have connections of their own, and the server refuses that of the loading.
func TestLoadOnRefusedConnection(t *testing.T) {
	t.Parallel()
	s := newFakeServer(t, func([]string) string { return "-NOSCRIPT x\r\n" })
	var selects atomic.Int32
	refuse := func(name string) string {
		switch {
		case name != "SELECT":
			return ""
		case selects.Add(1) == 1:
			return "+OK\r\n"
		}
		return "-ERR DB index is out of range\r\n"
	}
	s.SetUp(refuse)
	client := closing(t, redis.NewClient(&redis.Options{Addr: s.Addr, DB: 1, PipelineReadBufferSize: 4096})) // before 9.23 it takes this
	call := backend.Call{Script: script, Keys: []string{"b"}}
	for _, o := range backend.RunAll(t.Context(), over(t, client), []backend.Call{call, call}) {
		require.ErrorIs(t, o.Err, backend.ErrUnavailable)
		require.ErrorContains(t, o.Err, "DB index is out of range")
		require.False(t, backend.MayHaveRun(o.Err))
	}
}

// refusedOver returns a backend that sends what was refused not again.
func refusedOver(t *testing.T, client redis.UniversalClient) *goredisbackend.Backend {
	t.Helper()
	b := adaptertest.Must(goredisbackend.New(client, &goredisbackend.Options{Sharded: backend.ShardedOff, RefusedFor: -1}))(t)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}
