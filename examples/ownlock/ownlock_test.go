// Package ownlock has locks judged within the test's process, on the embedded server: one of hasp, and one by hand.
package ownlock

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/conformance/anylock"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// TestLock judges a Lock.
func TestLock(t *testing.T) {
	t.Parallel()
	server := embedded.NewServer()
	s := locks(func(env anylock.Env) (*primitives.Client, error) {
		return embedded.NewClient(server, &primitives.Options{WatchdogLease: env.Lease})
	})
	s.InProcess = true
	r := anylock.Run(t, s)
	for _, name := range []string{"mutual exclusion", "one process", "lease", "cancelled wait", "token"} {
		require.Equal(t, anylock.Holds, r.Of(name).Outcome, name)
	}
}

// TestByHand judges a lock whose unlock compares nothing.
func TestByHand(t *testing.T) {
	t.Parallel()
	server := embedded.NewServer()
	r := anylock.Judge(t, anylock.Subject{InProcess: true, Lock: func(ctx context.Context, env anylock.Env) (anylock.Hold, error) {
		for ctx.Err() == nil {
			reply, err := server.Do("SET", env.Name, "", "NX", "PX", strconv.FormatInt(env.Lease.Milliseconds(), 10))
			if err != nil || !reply.IsNil() {
				return anylock.Hold{Unlock: func(context.Context) error { _, err := server.Do("DEL", env.Name); return err }}, err
			}
			time.Sleep(time.Millisecond)
		}
		return anylock.Hold{}, ctx.Err()
	}}).Of("late unlock")
	require.Equal(t, anylock.Broken, r.Outcome)
	require.Equal(t, 3, r.Times)
	require.NotEmpty(t, r.History)
}

// TestProcesses judges a Lock in processes of its own, on a real server.
func TestProcesses(t *testing.T) {
	if testing.Short() && !servers.IsChild() {
		t.Skip("make prove runs it: -short leaves it out")
	}
	anylock.Run(t, locks(func(env anylock.Env) (*primitives.Client, error) {
		return goredisbackend.NewClient(redis.NewClient(&redis.Options{Addr: env.Addr}), &primitives.Options{WatchdogLease: env.Lease})
	}))
}

// locks is a Lock as a subject.
func locks(open func(env anylock.Env) (*primitives.Client, error)) anylock.Subject {
	get := func(take func(*primitives.Lock, context.Context) (*primitives.Lease, error)) func(context.Context, anylock.Env) (anylock.Hold, error) {
		return func(ctx context.Context, env anylock.Env) (anylock.Hold, error) {
			client := anylock.Open(env, func() (*primitives.Client, error) { return open(env) })
			lease, err := take(client.NewLock(env.Name, nil), ctx)
			if err != nil {
				return anylock.Hold{}, err
			}
			return anylock.Hold{Unlock: lease.Release, Token: lease.Token(), Context: lease.Context(context.Background())}, nil
		}
	}
	return anylock.Subject{Lock: get((*primitives.Lock).Lock), TryLock: get((*primitives.Lock).TryLock)}
}
