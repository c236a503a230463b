package main

import (
	"context"
	"time"

	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	valkeybackend "github.com/hasp-go/hasp/backend/valkey"
	"github.com/hasp-go/hasp/primitives"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/valkey-io/valkey-go"
)

// holdPlainLock needs no expiry: the client renews its lease, whose length is an option of the client.
func holdPlainLock(ctx context.Context, client *primitives.Client, name string, work func()) error {
	return client.NewPlainLock(name, nil).Do(ctx, func(ctx context.Context, _ *primitives.Lease) error {
		work()
		return ctx.Err()
	})
}

// renewed are the options of our clients.
var renewed = &primitives.Options{WatchdogLease: expiry}

// ours returns the lock of a client. Its waiters have no delay that one could set: messages wake them, and they poll.
func ours(client *primitives.Client, err error) (hold, error) {
	return func(ctx context.Context, name string, work func()) error {
		return holdPlainLock(ctx, client, name, work)
	}, err
}

func openGoRedis(server string, _ time.Duration) (hold, error) {
	return ours(goredisbackend.NewClient(redis.NewClient(&redis.Options{Addr: server}), renewed))
}

func openRueidis(server string, _ time.Duration) (hold, error) {
	conn, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server}})
	if err != nil {
		return nil, err
	}
	return ours(rueidisbackend.NewClient(conn, renewed))
}

func openValkey(server string, _ time.Duration) (hold, error) {
	conn, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{server}})
	if err != nil {
		return nil, err
	}
	return ours(valkeybackend.NewClient(conn, renewed))
}
