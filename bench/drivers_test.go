package bench_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
	"github.com/valkey-io/valkey-go"

	"github.com/hasp-go/hasp/backend"
	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	valkeybackend "github.com/hasp-go/hasp/backend/valkey"
)

// driver is one that the primitives run on.
type driver struct {
	name string
	// open returns a backend over a client of the server at addr, and what sends bare commands by the
	// same client. All end with b.
	open func(b *testing.B, addr string) (backend.Backend, sender)
}

// sender sends one command and reads the reply, which is made of integers, or nil.
type sender func(ctx context.Context, words []string) error

var drivers = []driver{
	{"rueidis", openRueidis}, {"valkey", openValkey}, {"goredis", openGoredis},
}

func openRueidis(b *testing.B, addr string) (backend.Backend, sender) {
	b.Helper()
	conn, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
	require.NoError(b, err)
	b.Cleanup(conn.Close)
	adapter, err := rueidisbackend.New(conn, nil)
	return closing(b, adapter, err), func(ctx context.Context, words []string) error {
		message, err := conn.Do(ctx, conn.B().Arbitrary(words...).Build()).ToMessage()
		switch {
		case rueidis.IsRedisNil(err):
			return nil
		case err == nil && message.IsArray():
			_, err = message.AsIntSlice()
		case err == nil:
			_, err = message.AsInt64()
		}
		return err
	}
}

func openValkey(b *testing.B, addr string) (backend.Backend, sender) {
	b.Helper()
	conn, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{addr}})
	require.NoError(b, err)
	b.Cleanup(conn.Close)
	adapter, err := valkeybackend.New(conn, nil)
	return closing(b, adapter, err), func(ctx context.Context, words []string) error {
		message, err := conn.Do(ctx, conn.B().Arbitrary(words...).Build()).ToMessage()
		switch {
		case valkey.IsValkeyNil(err):
			return nil
		case err == nil && message.IsArray():
			_, err = message.AsIntSlice()
		case err == nil:
			_, err = message.AsInt64()
		}
		return err
	}
}

func openGoredis(b *testing.B, addr string) (backend.Backend, sender) {
	b.Helper()
	conn := redis.NewClient(&redis.Options{Addr: addr})
	b.Cleanup(func() { require.NoError(b, conn.Close()) })
	adapter, err := goredisbackend.New(conn, nil)
	return closing(b, adapter, err), func(ctx context.Context, words []string) error {
		args := make([]any, len(words))
		for i, word := range words {
			args[i] = word
		}
		if err := conn.Do(ctx, args...).Err(); err != nil && err != redis.Nil { //nolint:errorlint // Bare.
			return err
		}
		return nil
	}
}

// closing returns a backend that ends with b.
func closing(b *testing.B, adapter backend.Backend, err error) backend.Backend {
	b.Helper()
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, adapter.Close()) })
	return adapter
}
