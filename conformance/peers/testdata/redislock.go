// Package redislock gives the API of bsm/redislock by a Lock, and by a MultiLock.
package redislock

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/conformance/peers/testdata/shared"
	"github.com/hasp-go/hasp/primitives"
)

var (
	ErrNotObtained = errors.New("redislock: not obtained")
	ErrLockNotHeld = errors.New("redislock: lock not held")
)

// RetryStrategy only says how long a caller waits: a Lock is woken, and does not poll.
type RetryStrategy time.Duration

func LinearBackoff(d time.Duration) RetryStrategy            { return RetryStrategy(d) }
func LimitRetry(wait RetryStrategy, tries int) RetryStrategy { return wait * RetryStrategy(tries) }

type Options struct {
	RetryStrategy RetryStrategy
	Metadata      string
}

type Client struct{}

// New ignores the connection, which is to the server of the run.
func New(any) *Client { return &Client{} }

type Lock struct {
	lease *primitives.Lease
	lock  *primitives.Lock // nil if it has several keys
	meta  string
}

func Obtain(ctx context.Context, conn any, key string, ttl time.Duration, o *Options) (*Lock, error) {
	return New(conn).Obtain(ctx, key, ttl, o)
}

func (*Client) Obtain(ctx context.Context, key string, ttl time.Duration, o *Options) (*Lock, error) {
	if o == nil {
		o = &Options{}
	}
	lock := shared.Client().NewLock(key, &primitives.LockOptions{Lease: ttl, Metadata: o.Metadata})
	lease, err := acquire(ctx, lock, o)
	if err != nil {
		return nil, err
	}
	return &Lock{lease, lock, o.Metadata}, nil
}

func ObtainMulti(ctx context.Context, _ any, keys []string, ttl time.Duration, _ *Options) (*Lock, error) {
	var locks []primitives.Locker
	for _, key := range keys {
		locks = append(locks, shared.Client().NewLock(key, &primitives.LockOptions{Lease: ttl}))
	}
	lease, err := acquire(ctx, primitives.NewMultiLock(locks...), &Options{})
	if err != nil {
		return nil, err
	}
	return &Lock{lease: lease}, nil
}

func acquire(ctx context.Context, lock primitives.Locker, o *Options) (*primitives.Lease, error) {
	acquire := lock.TryLock
	if o.RetryStrategy > 0 {
		acquire = lock.Lock
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(o.RetryStrategy))
		defer cancel()
	}
	lease, err := acquire(ctx)
	switch {
	case !errors.Is(err, primitives.ErrNotAcquired):
		return lease, err
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%w: %w", ErrNotObtained, err)
	}
	return nil, ErrNotObtained // Their callers compare by ==.
}

// Token is as long as theirs.
func (l *Lock) Token() string {
	sum := md5.Sum([]byte(l.lease.Owner()))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func (l *Lock) Metadata() string                               { return l.meta }
func (l *Lock) TTL(ctx context.Context) (time.Duration, error) { return l.lock.Remaining(ctx) }

func (l *Lock) Refresh(ctx context.Context, ttl time.Duration, _ *Options) error {
	err := l.lease.Extend(ctx, ttl)
	if errors.Is(err, primitives.ErrNotHeld) {
		return ErrNotObtained
	}
	return err
}

func (l *Lock) Release(ctx context.Context) error {
	if l == nil {
		return ErrLockNotHeld
	}
	err := l.lease.Release(ctx)
	if errors.Is(err, primitives.ErrNotHeld) || errors.Is(err, primitives.ErrConflict) {
		return ErrLockNotHeld
	}
	return err
}
