package rueidisbackend_test

import (
	"context"
	"crypto/tls"
	"net"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/adapter/testdata/adaptertest"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
)

// patience is that of the client with a server that is silent.
const patience = time.Minute

// fakeServer is a server that needs no address.
type fakeServer struct {
	*adaptertest.Server
	before func() // called by each dial; nil: nothing
}

// answering returns a server that answers by a function.
func answering(answer func(words []string) string) *fakeServer {
	return &fakeServer{Server: &adaptertest.Server{Answer: answer}}
}

// client returns a client whose connections lead to the server.
func (f *fakeServer) client(t *testing.T) rueidis.Client {
	t.Helper()
	return newClient(t, f.dial, rueidis.ClientOption{ForceSingleClient: true, ConnWriteTimeout: patience})
}

// newClient returns a client of an address, which is dialed by a function. It is closed with the test.
func newClient(t *testing.T, dial dialer, opts rueidis.ClientOption) rueidis.Client {
	t.Helper()
	opts.InitAddress, opts.DialCtxFn, opts.DisableCache = []string{"127.0.0.1:1"}, dial, true
	client := adaptertest.Must(rueidis.NewClient(opts))(t)
	t.Cleanup(client.Close)
	return client
}

type dialer = func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error)

// connect returns a backend on a client of the server.
func (f *fakeServer) connect(t *testing.T) *rueidisbackend.Backend {
	t.Helper()
	return over(t, f.client(t), nil)
}

// over returns a backend on a client. It is closed with the test.
func over(t *testing.T, client rueidis.Client, opts *rueidisbackend.Options) *rueidisbackend.Backend {
	t.Helper()
	b := adaptertest.Must(rueidisbackend.New(client, opts))(t)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// connect returns one on a server of a test of all adapters.
func connect(t *testing.T, s *adaptertest.Server) adaptertest.Adapter {
	t.Helper()
	return (&fakeServer{Server: s}).connect(t)
}

func (f *fakeServer) dial(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
	if f.before != nil {
		f.before()
	}
	return dial(f.Server), nil
}

// dial returns a connection to a server.
func dial(s *adaptertest.Server) net.Conn {
	near, far := net.Pipe()
	go s.Serve(far)
	return near
}
