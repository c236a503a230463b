package cells

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
	"github.com/valkey-io/valkey-go"

	"github.com/hasp-go/hasp/backend"
	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	valkeybackend "github.com/hasp-go/hasp/backend/valkey"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/primitives"
)

// Adapter makes backends of one driver.
type Adapter struct {
	Name      string
	Deadlines bool // its batches heed deadlines, but in a cluster and with TLS

	// Open makes a backend over a client of its own. Neither ends with ctx.
	Open func(ctx context.Context, c Client) (*conformance.Instance, error)

	// Spared begins the names of the refusals that the driver itself does not survive behind Sentinel, so hasp cannot
	// ([conformance.Harness.Spares]). A test fails once an upgrade has mended the driver: then it is to go.
	Spared string
}

// Runner is a backend whose calls somebody gets.
type Runner = harness.Runner

// Client is what the drivers' own options are made of. All but Addrs is optional.
type Client struct {
	Addrs                []string
	Cluster              bool
	OneEndpoint          bool   // a cluster has one address, which the driver takes for a server
	Master               string // not empty: Addrs are those of sentinels
	TLS                  *tls.Config
	Name, User, Password string // Name is of its connections
	RESP2                bool
	Multiplex            int // PipelineMultiplex of rueidis and valkey-go: -1 is one connection for all scripts
	Sharded              backend.Sharding
	Dial                 func(ctx context.Context, network, addr string) (net.Conn, error)
}

// small is the size of buffers that drivers would give half a megabyte: a cell may have hundreds of connections.
const small = 16 << 10

// At returns what a client of one server without more has to know.
func At(addr string) Client { return Client{Addrs: []string{addr}} }

// Adapters are all that talk to a server.
func Adapters() []Adapter {
	return []Adapter{
		// SENTINEL answered by no items: a panic in a goroutine of rueidis 1.0.79 (sentinel.go:827), and valkey-go.
		{Name: "Rueidis", Spared: `"*0" at`, Open: openRueidis},
		{Name: "Valkey", Spared: `"*0" at`, Open: openValkey},
		// Of go-redis 9.23.0, too (sentinel.go:1077), and SUBSCRIBE to a sentinel (pubsub.go:429).
		{Name: "GoRedis", Spared: `"*0" at`, Deadlines: true, Open: openGoRedis},
	}
}

// Named returns the adapter of that name.
func Named(name string) Adapter {
	return Adapters()[slices.IndexFunc(Adapters(), func(a Adapter) bool { return a.Name == name })]
}

// Backend makes a backend that ends with the test.
func (a Adapter) Backend(tb testing.TB, c Client) backend.Backend {
	tb.Helper()
	in := Got(a.Open(context.Background(), c))(tb)
	tb.Cleanup(func() { _ = in.Backend.Close(); in.Close() })
	return in.Backend
}

// Primitives makes a client of primitives that ends with the test.
func (a Adapter) Primitives(tb testing.TB, c Client, o *primitives.Options) *primitives.Client {
	tb.Helper()
	return Over(tb, a.Backend(tb, c), o)
}

// Over makes a client of primitives over b. Both end with the test.
func Over(tb testing.TB, b backend.Backend, o *primitives.Options) *primitives.Client {
	tb.Helper()
	c := Got(primitives.New(b, o))(tb)
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), conformance.Patience/4)
		defer cancel()
		_ = c.Close(ctx)
		require.NoError(tb, b.Close())
	})
	return c
}

// dial returns the function by which rueidis and valkey-go connect; nil: they use their own. It makes
// the TLS connection too, since these drivers do not if they are given a function.
func (c Client) dial() func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
	if c.Dial == nil {
		return nil
	}
	return func(ctx context.Context, addr string, _ *net.Dialer, config *tls.Config) (net.Conn, error) {
		conn, err := c.Dial(ctx, "tcp", addr)
		if err != nil || config == nil {
			return conn, err
		}
		secured := tls.Client(conn, config)
		if err := secured.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, err
		}
		return secured, nil
	}
}

func openRueidis(_ context.Context, c Client) (*conformance.Instance, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress:       c.Addrs,
		Sentinel:          rueidis.SentinelOption{MasterSet: c.Master},
		TLSConfig:         c.TLS,
		Username:          c.User,
		Password:          c.Password,
		ClientName:        c.Name, // No driver does without, if a server refuses it.
		AlwaysRESP2:       c.RESP2,
		DisableCache:      c.RESP2,
		PipelineMultiplex: c.Multiplex, ReadBufferEachConn: small, WriteBufferEachConn: small,
		DialCtxFn:         c.dial(),
		ForceSingleClient: c.OneEndpoint,
	})
	if err != nil {
		return nil, err
	}
	b, err := rueidisbackend.New(client, &rueidisbackend.Options{Sharded: c.Sharded})
	return instance(b, err, client.Close, func(ctx context.Context) error {
		return client.Do(ctx, client.B().Ping().Build()).Error()
	})
}

func openValkey(_ context.Context, c Client) (*conformance.Instance, error) {
	client, err := valkey.NewClient(valkey.ClientOption{
		InitAddress:       c.Addrs,
		Sentinel:          valkey.SentinelOption{MasterSet: c.Master},
		TLSConfig:         c.TLS,
		Username:          c.User,
		Password:          c.Password,
		ClientName:        c.Name,
		AlwaysRESP2:       c.RESP2,
		DisableCache:      c.RESP2,
		PipelineMultiplex: c.Multiplex, ReadBufferEachConn: small, WriteBufferEachConn: small,
		DialCtxFn:         c.dial(),
		ForceSingleClient: c.OneEndpoint,
	})
	if err != nil {
		return nil, err
	}
	b, err := valkeybackend.New(client, &valkeybackend.Options{Sharded: c.Sharded})
	return instance(b, err, client.Close, func(ctx context.Context) error {
		return client.Do(ctx, client.B().Ping().Build()).Error()
	})
}

func openGoRedis(_ context.Context, c Client) (*conformance.Instance, error) {
	options := &redis.UniversalOptions{
		Addrs:         c.Addrs,
		IsClusterMode: c.Cluster,
		MasterName:    c.Master,
		TLSConfig:     c.TLS,
		Username:      c.User,
		Password:      c.Password,
		ClientName:    c.Name,
		Protocol:      3,
		// Longer than the suite allows for a cancelled call, or it would not see one that waits.
		ReadTimeout:           5 * time.Second,
		ContextTimeoutEnabled: !c.Cluster && c.TLS == nil, // It is off by default.
	}
	if c.RESP2 {
		options.Protocol = 2
	}
	if c.Master != "" {
		options.DialerRetries = 1 // each asks all sentinels, who are dialed as often, for each of 4 tries
	}
	if dial := c.dial(); dial != nil {
		options.Dialer = func(ctx context.Context, _, addr string) (net.Conn, error) {
			return dial(ctx, addr, nil, c.TLS)
		}
	}
	client := redis.NewUniversalClient(options)
	b, err := goredisbackend.New(client, &goredisbackend.Options{Sharded: c.Sharded})
	return instance(b, err, func() { _ = client.Close() }, func(ctx context.Context) error {
		return client.Ping(ctx).Err()
	})
}

// instance ends the client if there is no backend.
func instance(
	b backend.Backend, err error, end func(), ping func(ctx context.Context) error,
) (*conformance.Instance, error) {
	if err != nil {
		end()
		return nil, err
	}
	return &conformance.Instance{Backend: b, Close: end, Ping: ping}, nil
}
