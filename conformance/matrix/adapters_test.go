package matrix

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/redis/rueidis"
	"github.com/valkey-io/valkey-go"

	"github.com/hasp-go/hasp/backend"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	valkeybackend "github.com/hasp-go/hasp/backend/valkey"
	"github.com/hasp-go/hasp/conformance"
)

// adapter makes backends of one driver.
type adapter struct {
	name string
	open func(ctx context.Context, o clientOptions) (*conformance.Instance, error)
}

// clientOptions are what the drivers' own options are made of.
type clientOptions struct {
	addrs   []string
	cluster bool
	resp2   bool
	sharded backend.Sharding
	dial    func(ctx context.Context, addr string) (net.Conn, error)
}

// adapters are all that talk to a server.
func adapters() []adapter {
	return []adapter{
		{name: "Rueidis", open: openRueidis},
		{name: "Valkey", open: openValkey},
	}
}

func openRueidis(_ context.Context, o clientOptions) (*conformance.Instance, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress:  o.addrs,
		AlwaysRESP2:  o.resp2,
		DisableCache: o.resp2,
		DialCtxFn: func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return o.dial(ctx, addr)
		},
	})
	if err != nil {
		return nil, err
	}
	b, err := rueidisbackend.New(client, &rueidisbackend.Options{Sharded: o.sharded})
	if err != nil {
		client.Close()
		return nil, err
	}
	return &conformance.Instance{
		Backend: b,
		Close:   client.Close,
		Ping: func(ctx context.Context) error {
			return client.Do(ctx, client.B().Ping().Build()).Error()
		},
	}, nil
}

func openValkey(_ context.Context, o clientOptions) (*conformance.Instance, error) {
	client, err := valkey.NewClient(valkey.ClientOption{
		InitAddress:  o.addrs,
		AlwaysRESP2:  o.resp2,
		DisableCache: o.resp2,
		DialCtxFn: func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return o.dial(ctx, addr)
		},
	})
	if err != nil {
		return nil, err
	}
	b, err := valkeybackend.New(client, &valkeybackend.Options{Sharded: o.sharded})
	if err != nil {
		client.Close()
		return nil, err
	}
	return &conformance.Instance{
		Backend: b,
		Close:   client.Close,
		Ping: func(ctx context.Context) error {
			return client.Do(ctx, client.B().Ping().Build()).Error()
		},
	}, nil
}
