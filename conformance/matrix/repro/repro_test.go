// Package repro keeps the programs by which others showed defects of hasp: one file for each, named
// as the program was. Each asserts that the fault that it makes did occur, and the bound that hasp
// now keeps. docs/testing.md lists them with the commits that mended what they show.
package repro

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silent{}) // It prints every dial that the tests make fail.
	os.Exit(conformance.Main(m))
}

// silent drops what go-redis logs.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// drivers are the clients of a server at an address, by the driver's name.
var drivers = map[string]func(t *testing.T, addr string) *primitives.Client{
	"goredis": goRedis, "rueidis": rueidisClient,
}

// over returns a client over b, which ends with the test, as b does.
func over(t *testing.T, b backend.Backend, opts *primitives.Options) *primitives.Client {
	t.Helper()
	c, err := primitives.New(b, opts)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = c.Close(ctx)
		require.NoError(t, b.Close())
	})
	return c
}

func goRedis(t *testing.T, addr string) *primitives.Client {
	t.Helper()
	return goRedisWith(t, addr, nil)
}

func goRedisWith(t *testing.T, addr string, opts *primitives.Options) *primitives.Client {
	t.Helper()
	r := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = r.Close() })
	b, err := goredisbackend.New(r, nil)
	require.NoError(t, err)
	return over(t, b, opts)
}

func rueidisClient(t *testing.T, addr string) *primitives.Client {
	t.Helper()
	return rueidisWith(t, rueidis.ClientOption{InitAddress: []string{addr}})
}

func rueidisWith(t *testing.T, option rueidis.ClientOption) *primitives.Client {
	t.Helper()
	r, err := rueidis.NewClient(option)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	b, err := rueidisbackend.New(r, nil)
	require.NoError(t, err)
	return over(t, b, nil)
}

// inProcess returns a server and a client of it.
func inProcess(t *testing.T, opts *primitives.Options) (*embedded.Server, *primitives.Client) {
	t.Helper()
	server := embedded.NewServer()
	b, err := embedded.New(server, nil)
	require.NoError(t, err)
	return server, over(t, b, opts)
}

// do runs a command on a server, and returns the text of its reply.
func do(t *testing.T, server *embedded.Server, words ...string) string {
	t.Helper()
	reply, err := server.Do(words...)
	require.NoError(t, err)
	text, err := reply.Text()
	require.NoError(t, err)
	return text
}

// pttl returns what a server says that a key still has, in milliseconds.
func pttl(t *testing.T, s *servers.Server, key string) int64 {
	t.Helper()
	reply, err := s.Do("PTTL", key)
	require.NoError(t, err)
	left, err := reply.Int()
	require.NoError(t, err)
	return left
}
