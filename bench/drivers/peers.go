package drivers

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redis/redis_rate/v10"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	redsyncrueidis "github.com/go-redsync/redsync/v4/redis/rueidis"
	"github.com/redis/rueidis/rueidiscompat"
	"github.com/redis/rueidis/rueidislock"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/goredisstore.v9"
	"github.com/valkey-io/valkey-go/valkeylock"

	"github.com/hasp-go/hasp/bench/benchmark"
)

// lease is for how long peers lock; those that renew do so in time.
const lease = 30 * time.Second

func redsyncOverRueidis(s *benchmark.Setup, many bool) func(name string) benchmark.Lock {
	return redsyncOver(redsyncrueidis.NewPool(rueidiscompat.NewAdapter(newRueidis(s, many))))
}

func redsyncOverGoRedis(s *benchmark.Setup, _ bool) func(name string) benchmark.Lock {
	return redsyncOver(goredis.NewPool(newGoRedis(s)))
}

// redsyncOver asks every 50 to 250 ms, by redsync's default, and does not give up.
func redsyncOver(pool redis.Pool) func(name string) benchmark.Lock {
	sync := redsync.New(pool)
	return func(name string) benchmark.Lock {
		return func(ctx context.Context) (func(context.Context) error, error) {
			mutex := sync.NewMutex(name, redsync.WithExpiry(lease), redsync.WithTries(1<<20))
			unlock := func(ctx context.Context) error {
				_, err := mutex.UnlockContext(ctx)
				return err
			}
			return unlock, mutex.LockContext(ctx)
		}
	}
}

// openRedislock asks every 16 to 512 ms.
func openRedislock(s *benchmark.Setup, _ bool) func(name string) benchmark.Lock {
	client := redislock.New(newGoRedis(s))
	return func(name string) benchmark.Lock {
		return func(ctx context.Context) (func(context.Context) error, error) {
			lock, err := client.Obtain(ctx, name, lease, &redislock.Options{
				RetryStrategy: redislock.ExponentialBackoff(16*time.Millisecond, 512*time.Millisecond),
			})
			if err != nil {
				return nil, err
			}
			return lock.Release, nil
		}
	}
}

func openRueidislock(s *benchmark.Setup, many bool) func(name string) benchmark.Lock {
	l, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidisOptions(s.Addr, many), KeyMajority: 1, KeyValidity: lease,
	})
	s.Must(err)
	return locksOf(s, l)
}

func openValkeylock(s *benchmark.Setup, many bool) func(name string) benchmark.Lock {
	l, err := valkeylock.NewLocker(valkeylock.LockerOption{
		ClientOption: valkeyOptions(s.Addr, many), KeyMajority: 1, KeyValidity: lease,
	})
	s.Must(err)
	return locksOf(s, l)
}

// locker is rueidislock's and valkeylock's.
type locker interface {
	WithContext(ctx context.Context, name string) (context.Context, context.CancelFunc, error)
	Close()
}

// locksOf returns the locks of a locker, which ends with s.
func locksOf(s *benchmark.Setup, l locker) func(name string) benchmark.Lock {
	s.Cleanup(l.Close)
	return func(name string) benchmark.Lock {
		return func(ctx context.Context) (func(context.Context) error, error) {
			_, release, err := l.WithContext(ctx, name)
			return func(context.Context) error { release(); return nil }, err
		}
	}
}

func redisRate(s *benchmark.Setup, perHour int) func(ctx context.Context, name string) (bool, error) {
	l := redis_rate.NewLimiter(newGoRedis(s))
	return func(ctx context.Context, name string) (bool, error) {
		r, err := l.Allow(ctx, name, redis_rate.PerHour(perHour))
		return err == nil && r.Allowed > 0, err
	}
}

func throttledLimiter(s *benchmark.Setup, perHour int) func(ctx context.Context, name string) (bool, error) {
	store, err := goredisstore.NewCtx(newGoRedis(s), "")
	s.Must(err)
	l, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{
		MaxRate: throttled.PerHour(perHour), MaxBurst: perHour,
	})
	s.Must(err)
	return func(ctx context.Context, name string) (bool, error) {
		limited, _, err := l.RateLimitCtx(ctx, name, 1)
		return !limited, err
	}
}
