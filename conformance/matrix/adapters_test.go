package matrix

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/valkey-io/valkey-go"

	"github.com/hasp-go/hasp/backend"
	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
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
	addrs          []string
	cluster        bool
	sentinelMaster string // not empty: addrs are those of sentinels
	tls            *tls.Config
	user, password string
	resp2          bool
	sharded        backend.Sharding
	dial           func(ctx context.Context, addr string) (net.Conn, error)
}

// dialWith has the form that rueidis and valkey-go ask for. Whoever sets how drivers dial has to
// see to TLS, too.
func (o clientOptions) dialWith(
	ctx context.Context, addr string, _ *net.Dialer, config *tls.Config,
) (net.Conn, error) {
	conn, err := o.dial(ctx, addr)
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

// adapters are all that talk to a server.
func adapters() []adapter {
	return []adapter{
		{name: "Rueidis", open: openRueidis},
		{name: "Valkey", open: openValkey},
		{name: "GoRedis", open: openGoRedis},
	}
}

func openRueidis(_ context.Context, o clientOptions) (*conformance.Instance, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress:  o.addrs,
		Sentinel:     rueidis.SentinelOption{MasterSet: o.sentinelMaster},
		TLSConfig:    o.tls,
		Username:     o.user,
		Password:     o.password,
		AlwaysRESP2:  o.resp2,
		DisableCache: o.resp2,
		DialCtxFn:    o.dialWith,
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
		Sentinel:     valkey.SentinelOption{MasterSet: o.sentinelMaster},
		TLSConfig:    o.tls,
		Username:     o.user,
		Password:     o.password,
		AlwaysRESP2:  o.resp2,
		DisableCache: o.resp2,
		DialCtxFn:    o.dialWith,
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

func openGoRedis(_ context.Context, o clientOptions) (*conformance.Instance, error) {
	protocol := 3
	if o.resp2 {
		protocol = 2
	}
	dials := 0 // the default, 5
	if o.sentinelMaster != "" {
		dials = 1 // each asks all sentinels, who are dialed as often, for each of 4 tries
	}
	client := redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs:         o.addrs,
		IsClusterMode: o.cluster,
		MasterName:    o.sentinelMaster,
		TLSConfig:     o.tls,
		Username:      o.user,
		Password:      o.password,
		Protocol:      protocol,
		DialerRetries: dials,
		// Longer than the suite allows for a cancelled call, or it would not see one that waits.
		ReadTimeout: 5 * time.Second,
		Dialer: func(ctx context.Context, _, addr string) (net.Conn, error) {
			return o.dialWith(ctx, addr, nil, o.tls)
		},
	})
	closeClient := func() { _ = client.Close() }
	b, err := goredisbackend.New(client, &goredisbackend.Options{Sharded: o.sharded})
	if err != nil {
		closeClient()
		return nil, err
	}
	return &conformance.Instance{
		Backend: b,
		Close:   closeClient,
		Ping:    func(ctx context.Context) error { return client.Ping(ctx).Err() },
	}, nil
}
