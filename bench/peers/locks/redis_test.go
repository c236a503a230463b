package locks

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/hasp-go/hasp/conformance/anylock"
)

// redisRows are locks of others on Redis.
func redisRows() []*row {
	several := redsyncSubject
	several.Servers = 3
	return []*row{
		{title: "redsync", module: "github.com/go-redsync/redsync/v4", subject: redsyncSubject},
		{title: "redsync", how: "3 servers", module: "github.com/go-redsync/redsync/v4", subject: several},
		{title: "redislock", module: "github.com/bsm/redislock", subject: redislockSubject},
		{title: "rueidislock", module: "github.com/redis/rueidis", subject: rueidislockSubject},
		{title: "`SET NX`, `DEL`", subject: byHand},
	}
}

var redsyncSubject = anylock.Subject{
	Lock: func(ctx context.Context, env anylock.Env) (anylock.Hold, error) {
		mutex := redsyncs(env).NewMutex(env.Name, redsync.WithExpiry(env.Lease), redsync.WithTries(1<<20))
		err := mutex.LockContext(ctx)
		return redsyncHold(mutex), err
	},
	TryLock: func(ctx context.Context, env anylock.Env) (anylock.Hold, error) {
		mutex := redsyncs(env).NewMutex(env.Name, redsync.WithExpiry(env.Lease))
		err := mutex.TryLockContext(ctx)
		return redsyncHold(mutex), err
	},
	UnlockName: func(ctx context.Context, env anylock.Env) error {
		_, err := redsyncs(env).NewMutex(env.Name).UnlockContext(ctx)
		return err
	},
}

func redsyncs(env anylock.Env) *redsync.Redsync {
	return anylock.Open(env, func() (*redsync.Redsync, error) {
		var pools []redsyncredis.Pool
		for _, addr := range env.Addrs {
			pools = append(pools, goredis.NewPool(redis.NewClient(&redis.Options{Addr: addr})))
		}
		return redsync.New(pools...), nil
	})
}

// until is a context that ends with the time for which redsync says that the lock is valid.
type until struct {
	context.Context
	mutex *redsync.Mutex
}

func (u until) Err() error {
	if time.Now().After(u.mutex.Until()) {
		return context.DeadlineExceeded
	}
	return nil
}

func redsyncHold(m *redsync.Mutex) anylock.Hold {
	return anylock.Hold{
		Unlock: func(ctx context.Context) error {
			_, err := m.UnlockContext(ctx)
			return err
		},
		Context: until{context.Background(), m},
		Extend: func(ctx context.Context) error {
			_, err := m.ExtendContext(ctx)
			return err
		},
	}
}

var redislockSubject = anylock.Subject{
	Lock: func(ctx context.Context, env anylock.Env) (anylock.Hold, error) {
		return obtain(ctx, env, &redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)})
	},
	TryLock: func(ctx context.Context, env anylock.Env) (anylock.Hold, error) { return obtain(ctx, env, nil) },
}

func obtain(ctx context.Context, env anylock.Env, opts *redislock.Options) (anylock.Hold, error) {
	client := anylock.Open(env, func() (*redislock.Client, error) {
		return redislock.New(redis.NewClient(&redis.Options{Addr: env.Addr})), nil
	})
	lock, err := client.Obtain(ctx, env.Name, env.Lease, opts)
	return anylock.Hold{
		Unlock: func(ctx context.Context) error { return lock.Release(ctx) },
		Extend: func(ctx context.Context) error { return lock.Refresh(ctx, env.Lease, nil) },
	}, err
}

// rueidislockSubject waits under a context of its own, since the lock ends with the context of its wait.
var rueidislockSubject = anylock.Subject{
	Lock: func(ctx context.Context, env anylock.Env) (anylock.Hold, error) {
		waits, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer context.AfterFunc(ctx, cancel)()
		held, release, err := lockers(env).WithContext(waits, env.Name)
		return anylock.Hold{Unlock: func(context.Context) error { release(); return nil }, Context: held}, err
	},
	TryLock: func(ctx context.Context, env anylock.Env) (anylock.Hold, error) {
		held, release, err := lockers(env).TryWithContext(context.WithoutCancel(ctx), env.Name)
		return anylock.Hold{Unlock: func(context.Context) error { release(); return nil }, Context: held}, err
	},
}

func lockers(env anylock.Env) rueidislock.Locker {
	return anylock.Open(env, func() (rueidislock.Locker, error) {
		return rueidislock.NewLocker(rueidislock.LockerOption{
			ClientOption: rueidis.ClientOption{InitAddress: env.Addrs}, KeyMajority: 1, KeyValidity: env.Lease,
			TryNextAfter: time.Second, // By default 20 ms: on a busy machine nobody gets the lock.
		})
	})
}

// byHand is what many programs have.
var byHand = anylock.Subject{
	Lock: func(ctx context.Context, env anylock.Env) (anylock.Hold, error) {
		conn := connection(env)
		for {
			taken, err := conn.SetNX(ctx, env.Name, "taken", env.Lease).Result()
			if taken || err != nil {
				return anylock.Hold{Unlock: func(ctx context.Context) error { return conn.Del(ctx, env.Name).Err() }}, err
			}
			time.Sleep(10 * time.Millisecond) // After the end of ctx SetNX fails.
		}
	},
	UnlockName: func(ctx context.Context, env anylock.Env) error { return connection(env).Del(ctx, env.Name).Err() },
}

func connection(env anylock.Env) *redis.Client {
	return anylock.Open(env, func() (*redis.Client, error) { return redis.NewClient(&redis.Options{Addr: env.Addr}), nil })
}
