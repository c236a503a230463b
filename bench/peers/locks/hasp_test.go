package locks

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/valkey-io/valkey-go"

	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	valkeybackend "github.com/hasp-go/hasp/backend/valkey"
	"github.com/hasp-go/hasp/conformance/anylock"
	"github.com/hasp-go/hasp/primitives"
)

// kind is a lock of hasp's, with leases that are renewed.
type kind struct {
	title   string
	servers int
	inOrder bool
	lock    func(c []*primitives.Client, name string) primitives.Locker
	reader  func(c *primitives.Client, name string) primitives.Locker
}

var kinds = []kind{
	{title: "`Lock`", lock: func(c []*primitives.Client, name string) primitives.Locker { return c[0].NewLock(name, nil) }},
	{title: "`Mutex`", inOrder: true, lock: func(c []*primitives.Client, name string) primitives.Locker {
		return c[0].NewMutex(name, nil)
	}},
	{title: "`FairLock`", inOrder: true, lock: func(c []*primitives.Client, name string) primitives.Locker {
		return c[0].NewFairLock(name, nil)
	}},
	{title: "`PlainLock`", lock: func(c []*primitives.Client, name string) primitives.Locker {
		return c[0].NewPlainLock(name, nil)
	}},
	{title: "`RedLock`, 3 servers", servers: 3, lock: func(c []*primitives.Client, name string) primitives.Locker {
		return primitives.NewRedLock(c, name, nil)
	}},
	{
		title: "`ReadWriteLock`",
		lock: func(c []*primitives.Client, name string) primitives.Locker {
			return c[0].NewReadWriteLock(name, nil).WriteLock()
		},
		reader: func(c *primitives.Client, name string) primitives.Locker {
			return c.NewReadWriteLock(name, nil).ReadLock()
		},
	},
}

// ours are hasp's locks, on each driver.
func ours() (all []*row) {
	for _, k := range kinds {
		for _, d := range drivers {
			all = append(all, &row{title: "hasp's " + k.title, how: d.name, subject: k.over(d.open)})
		}
	}
	return all
}

func (k kind) over(open open) anylock.Subject {
	s := anylock.Subject{
		Lock: func(ctx context.Context, env anylock.Env) (anylock.Hold, error) {
			return held(k.lock(clients(env, open), env.Name).Lock(ctx))
		},
		TryLock: func(ctx context.Context, env anylock.Env) (anylock.Hold, error) {
			return held(k.lock(clients(env, open), env.Name).TryLock(ctx))
		},
		InOrder: k.inOrder, Servers: k.servers,
	}
	if k.reader != nil {
		s.RLock = func(ctx context.Context, env anylock.Env) (anylock.Hold, error) {
			return held(k.reader(clients(env, open)[0], env.Name).Lock(ctx))
		}
	}
	return s
}

// held returns what a lease gives its holder.
func held(l *primitives.Lease, err error) (anylock.Hold, error) {
	if err != nil {
		return anylock.Hold{}, err
	}
	return anylock.Hold{Unlock: l.Release, Token: l.Token(), Context: l.Context(context.Background())}, nil
}

// clients are a participant's, one for each server.
func clients(env anylock.Env, open open) []*primitives.Client {
	return anylock.Open(env, func() (all []*primitives.Client, err error) {
		for _, addr := range env.Addrs {
			client, failed := open(addr, env.Lease)
			all, err = append(all, client), errors.Join(err, failed)
		}
		return all, err
	})
}

// drivers are hasp's.
var drivers = []struct {
	name string
	open open
}{{"go-redis", overGoRedis}, {"rueidis", overRueidis}, {"valkey-go", overValkey}}

type open func(addr string, lease time.Duration) (*primitives.Client, error)

func overGoRedis(addr string, lease time.Duration) (*primitives.Client, error) {
	conn := redis.NewClient(&redis.Options{Addr: addr})
	return goredisbackend.NewClient(conn, &primitives.Options{WatchdogLease: lease})
}

func overRueidis(addr string, lease time.Duration) (*primitives.Client, error) {
	conn, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
	if err != nil {
		return nil, err
	}
	return rueidisbackend.NewClient(conn, &primitives.Options{WatchdogLease: lease})
}

func overValkey(addr string, lease time.Duration) (*primitives.Client, error) {
	conn, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{addr}})
	if err != nil {
		return nil, err
	}
	return valkeybackend.NewClient(conn, &primitives.Options{WatchdogLease: lease})
}
