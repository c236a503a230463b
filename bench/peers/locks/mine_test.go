package locks

import (
	"context"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/hasp-go/hasp/conformance/anylock"
)

func TestMine(t *testing.T) {
	anylock.Run(t, anylock.Subject{
		Lock: func(ctx context.Context, env anylock.Env) (anylock.Hold, error) {
			client := anylock.Open(env, func() (*redislock.Client, error) {
				return redislock.New(redis.NewClient(&redis.Options{Addr: env.Addr})), nil
			})
			retry := &redislock.Options{RetryStrategy: redislock.LinearBackoff(50 * time.Millisecond)}
			lock, err := client.Obtain(ctx, env.Name, env.Lease, retry)
			if err != nil {
				return anylock.Hold{}, err
			}
			return anylock.Hold{Unlock: lock.Release}, nil
		},
	})
}
