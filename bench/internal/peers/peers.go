// Package peers has the locks of other libraries, and the bare commands of the simplest one.
package peers

import (
	"context"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // EVALSHA names scripts so.
	_ "embed"
	"encoding/hex"
	"slices"
	"strconv"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	redsyncrueidis "github.com/go-redsync/redsync/v4/redis/rueidis"
	"github.com/redis/rueidis/rueidiscompat"
	"github.com/redis/rueidis/rueidislock"
	"github.com/valkey-io/valkey-go/valkeylock"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/bench/internal/drivers"
	"github.com/hasp-go/hasp/bench/internal/measure"
)

// Lock waits until the caller holds a lock, and returns what releases it.
type Lock func(ctx context.Context) (unlock func(ctx context.Context) error, err error)

// Peer is a library with a lock, by one driver.
type Peer struct {
	Name   string
	Driver string

	// Waits is false for one that does not wait for a lock that is held.
	Waits bool

	// Open opens a client of its own, which ends with s, and returns its locks, by name.
	Open func(s *measure.Scope, at drivers.Place, many bool) func(name string) Lock
}

// Redisson is the peer that is not in this process, and has no driver: a JVM runs and measures it.
const Redisson = "redisson"

// lease is for how long peers lock; those that renew do so in time.
const lease = 30 * time.Second

// Of returns the peers on a driver. The first is the simplest lock that there is: SET NX PX, and a script that
// deletes the key if it has the holder's value. It neither waits nor renews.
func Of(driver string) []Peer {
	if driver == drivers.Embedded {
		return nil
	}
	all := []Peer{
		{"setnx", driver, false, func(s *measure.Scope, at drivers.Place, many bool) func(string) Lock {
			return setNX(s, drivers.Open(s, driver, at, many).Send)
		}},
		{"redsync", "rueidis", true, func(s *measure.Scope, at drivers.Place, many bool) func(string) Lock {
			conn := drivers.Open(s, "rueidis", at, many).Rueidis
			return redsyncOver(redsyncrueidis.NewPool(rueidiscompat.NewAdapter(conn)))
		}},
		{"redsync", "goredis", true, func(s *measure.Scope, at drivers.Place, many bool) func(string) Lock {
			return redsyncOver(goredis.NewPool(drivers.Open(s, "goredis", at, many).GoRedis))
		}},
		{"redislock", "goredis", true, openRedislock},
		{"rueidislock", "rueidis", true, openRueidislock},
		{"valkeylock", "valkey", true, openValkeylock},
	}
	return slices.DeleteFunc(all, func(p Peer) bool { return p.Driver != driver })
}

//go:embed compare_and_delete.lua
var compareAndDelete string

// loadSetNX loads the script that deletes, and returns its hash, and the milliseconds of a lease.
func loadSetNX(s *measure.Scope, send drivers.Send) (sha, ms string) {
	s.Must(send(context.Background(), "SCRIPT", "LOAD", compareAndDelete))
	sum := sha1.Sum([]byte(compareAndDelete)) //nolint:gosec // As above.
	return hex.EncodeToString(sum[:]), strconv.FormatInt(lease.Milliseconds(), 10)
}

func setNX(s *measure.Scope, send drivers.Send) func(name string) Lock {
	sha, ms := loadSetNX(s, send)
	return func(name string) Lock {
		return func(ctx context.Context) (func(context.Context) error, error) {
			value := rand.Text()
			return func(ctx context.Context) error { return send(ctx, "EVALSHA", sha, "1", name, value) },
				send(ctx, "SET", name, value, "NX", "PX", ms)
		}
	}
}

// SetNX returns the acquire and the release of the simplest lock, as calls of scripts.
func SetNX(s *measure.Scope, send drivers.Send, name string) []backend.Call {
	sha, ms := loadSetNX(s, send)
	keys, value := []string{name}, rand.Text()
	return []backend.Call{
		{Script: &backend.Script{Command: "SET"}, Keys: keys, Args: []string{value, "NX", "PX", ms}},
		{Script: &backend.Script{SHA1: sha}, Keys: keys, Args: []string{value}},
	}
}

// redsyncOver asks every 50 to 250 ms, by redsync's default, and does not give up.
func redsyncOver(pool redis.Pool) func(name string) Lock {
	sync := redsync.New(pool)
	return func(name string) Lock {
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
func openRedislock(s *measure.Scope, at drivers.Place, many bool) func(name string) Lock {
	client := redislock.New(drivers.Open(s, "goredis", at, many).GoRedis)
	return func(name string) Lock {
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

func openRueidislock(s *measure.Scope, at drivers.Place, many bool) func(name string) Lock {
	l, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: drivers.Rueidis(at.Addr, many), KeyMajority: 1, KeyValidity: lease,
	})
	s.Must(err)
	return locksOf(s, l)
}

func openValkeylock(s *measure.Scope, at drivers.Place, many bool) func(name string) Lock {
	l, err := valkeylock.NewLocker(valkeylock.LockerOption{
		ClientOption: drivers.Valkey(at.Addr, many), KeyMajority: 1, KeyValidity: lease,
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
func locksOf(s *measure.Scope, l locker) func(name string) Lock {
	s.Cleanup(l.Close)
	return func(name string) Lock {
		return func(ctx context.Context) (func(context.Context) error, error) {
			_, release, err := l.WithContext(ctx, name)
			return func(context.Context) error { release(); return nil }, err
		}
	}
}
