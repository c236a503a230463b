package embedded_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/adapter/testdata/adaptertest"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/primitives"
)

var (
	setScript = backend.NewScript("set",
		"redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])\n"+
			"return redis.call('publish', ARGV[3], ARGV[1])", 1, backend.RetryNever)
	getScript = backend.NewScript("get", "return redis.call('get', KEYS[1])", 1, backend.RetryReadOnly)
)

func newBackend(t *testing.T, server *embedded.Server) *embedded.Backend {
	t.Helper()
	b := adaptertest.Must(embedded.New(server, nil))(t)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func TestNewNeedsServer(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, adaptertest.ErrOf(embedded.New(nil, nil)), "server is nil")
}

func TestNewClientClosesItsBackend(t *testing.T) {
	t.Parallel()
	server := embedded.NewServer()
	adaptertest.ClientCloses(t, func(o *primitives.Options) (*primitives.Client, error) { return embedded.NewClient(server, o) },
		func() error { return adaptertest.ErrOf(server.Do("PING")) })
}

func TestBackendsShareTheServer(t *testing.T) {
	t.Parallel()
	server := embedded.NewServer()
	one, two := newBackend(t, server), newBackend(t, server)
	require.NoError(t, adaptertest.ErrOf(one.Run(t.Context(), setScript, []string{"k"}, []string{"v", "60000", "c"})))
	require.Equal(t, backend.StringReply("v"), adaptertest.Must(two.Run(context.Background(), getScript, []string{"k"}, nil))(t))
	require.Equal(t, server, one.Server())
}

func TestAdvance(t *testing.T) {
	t.Parallel()
	server := embedded.NewServer()
	b := newBackend(t, server)
	require.NoError(t, adaptertest.ErrOf(b.Run(t.Context(), setScript, []string{"k"}, []string{"v", "3600000", "c"})))
	server.Advance(30 * time.Minute)
	reply := adaptertest.Must(server.Do("PTTL", "k"))(t)
	left := adaptertest.Must(reply.Duration(time.Millisecond))(t)
	require.LessOrEqual(t, left, 30*time.Minute)
	require.Greater(t, left, 20*time.Minute)
	server.Advance(30 * time.Minute)
	reply = adaptertest.Must(server.Do("GET", "k"))(t)
	require.True(t, reply.IsNil())

	require.NoError(t, adaptertest.ErrOf(b.Run(t.Context(), setScript, []string{"k"}, []string{"v", "3600000", "c"})))
	server.Advance(-time.Hour)
	reply = adaptertest.Must(server.Do("PTTL", "k"))(t)
	left = adaptertest.Must(reply.Duration(time.Millisecond))(t)
	require.Greater(t, left, time.Hour+50*time.Minute, "the clock is set back")
}

// virtual runs a test in virtual time, with a server.
func virtual(t *testing.T, test func(t *testing.T, server *embedded.Server)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, embedded.NewServer()) })
}
