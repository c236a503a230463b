// Package redsync gives redsync's Mutex by a RedLock, and its pools by servers in the process.
package redsync

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4/redis"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/peers/testdata/shared"
	"github.com/hasp-go/hasp/primitives"
)

type (
	ErrTaken     struct{ error }
	ErrNodeTaken struct{ error }
)

// pool is a client of one server. It is as much of a connection as the tests need to look at a lock.
type pool struct {
	redis.Conn
	*primitives.Client
}

func (p pool) Get(context.Context) (redis.Conn, error) { return conn(p), nil }

type conn pool

func (c conn) Close() error { return nil }

// Set takes the lock for somebody else.
func (c conn) Set(name, _ string) (bool, error) {
	_, err := c.NewLock(name, nil).TryLock(context.Background())
	return err == nil, err
}

func (c conn) PTTL(name string) (time.Duration, error) {
	return c.NewLock(name, nil).Remaining(context.Background())
}

// Get returns the value of the mutex that holds the lock here, and "free" if none does.
func (c conn) Get(name string) (string, error) {
	holder, err := c.NewLock(name, nil).Holder(context.Background())
	if errors.Is(err, primitives.ErrNotHeld) {
		return "free", nil
	} else if err != nil {
		return "", err
	}
	value, _ := values.Load(holder.Owner)
	text, _ := value.(string)
	return text, nil
}

// values has the value of the mutex of each owner: in hasp each server has an owner of its own.
var values sync.Map

func makeCases(count int) map[string]*testCase {
	pools := make([]redis.Pool, count)
	for i := range pools {
		client := shared.Got(embedded.NewClient(embedded.NewServer(), nil))
		pools[i], opened = pool{Client: client}, append(opened, client)
	}
	return map[string]*testCase{"hasp": {count, pools}}
}

// opened are the clients of the test that runs.
var opened []*primitives.Client

// run stands for t.Run, which virtual time has not, and closes the clients.
func run(t *testing.T, _ string, test func(t *testing.T)) {
	defer func() {
		for _, client := range opened {
			_ = client.Close(context.Background()) // What it cannot release ends with the server.
		}
		opened = nil
	}()
	test(t)
}

// Mutex has the fields that the tests set.
type Mutex struct {
	name                       string
	expiry                     time.Duration
	tries                      int
	delayFunc                  func(tries int) time.Duration
	genValueFunc               func() (string, error)
	driftFactor, timeoutFactor float64
	quorum                     int
	setNXOnExtend              bool
	value                      string
	pools                      []redis.Pool
	lease                      *primitives.Lease
}

func genValue() (string, error) { return "", nil }

type Redsync struct{ pools []redis.Pool }

func New(pools ...redis.Pool) *Redsync { return &Redsync{pools} }

type Option func(*Mutex)

func WithExpiry(d time.Duration) Option { return func(m *Mutex) { m.expiry = d } }
func WithValue(value string) Option     { return func(m *Mutex) { m.value = value } }

func (r *Redsync) NewMutex(name string, options ...Option) *Mutex {
	m := &Mutex{name: name, expiry: 8 * time.Second, tries: 32, quorum: len(r.pools)/2 + 1, pools: r.pools}
	m.delayFunc = func(int) time.Duration { return 150 * time.Millisecond }
	for _, set := range options {
		set(m)
	}
	return m
}

func (m *Mutex) lock() *primitives.RedLock {
	var clients []*primitives.Client
	for _, p := range m.pools {
		clients = append(clients, p.(pool).Client)
	}
	return primitives.NewRedLock(clients, m.name, &primitives.RedLockOptions{Lease: m.expiry})
}

// Lock waits for as long as the tries of a mutex take.
func (m *Mutex) Lock() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(m.tries)*m.delayFunc(1))
	defer cancel()
	return m.keep(m.lock().Lock(ctx))
}

func (m *Mutex) TryLock() error                           { return m.TryLockContext(context.Background()) }
func (m *Mutex) TryLockContext(ctx context.Context) error { return m.keep(m.lock().TryLock(ctx)) }

func (m *Mutex) keep(lease *primitives.Lease, err error) error {
	if errors.Is(err, primitives.ErrNotAcquired) {
		return &ErrTaken{err}
	} else if err != nil {
		return err
	}
	owners := make([]string, len(m.pools))
	for i, part := range lease.Parts() {
		if part != nil {
			owners[i] = part.Owner()
		}
	}
	m.lease, m.value = lease, strings.Join(owners, " ")
	for _, owner := range owners {
		values.Store(owner, m.value)
	}
	return nil
}

// Unlock of a mutex that another one has locked releases the owners in its value.
func (m *Mutex) Unlock() (bool, error) {
	ctx := context.Background()
	if m.lease != nil {
		err := m.lease.Release(ctx)
		return err == nil, err
	}
	released := 0
	for i, owner := range strings.Split(m.value, " ") {
		if owner == "" {
			continue
		}
		ok, err := m.pools[i].(pool).NewLock(m.name, nil).ReleaseOwner(ctx, owner)
		if err != nil {
			return false, err
		} else if ok {
			released++
		}
	}
	return released >= m.quorum, nil
}

func (m *Mutex) Extend() (bool, error) {
	err := m.lease.Extend(context.Background(), m.expiry)
	return err == nil, err
}

func (m *Mutex) Valid() (bool, error) { return m.lease.Err() == nil, nil }
func (m *Mutex) Value() string        { return m.value }
