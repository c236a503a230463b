// Package redisstore gives the API of sethvargo/go-redisstore by a RateLimiter.
package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/hasp-go/hasp/conformance/peers/testdata/shared"
	"github.com/hasp-go/hasp/primitives"
)

type Config struct {
	Tokens   uint64
	Interval time.Duration
	Dial     func() (redis.Conn, error)
}

type Store primitives.Rate

// New does not dial: the client is on the server of the run.
func New(c *Config) (*Store, error) {
	return &Store{Permits: int(c.Tokens), Interval: c.Interval}, nil
}

func (s *Store) limiter(key string) *primitives.RateLimiter {
	return shared.Client().NewRateLimiter(key, primitives.Rate(*s), &primitives.RateLimiterOptions{Unavailable: primitives.Refuse(), Timeout: time.Hour})
}

func (s *Store) Get(ctx context.Context, key string) (limit, remaining uint64, err error) {
	rate, err := s.limiter(key).Rate(ctx)
	if errors.Is(err, primitives.ErrNoRate) {
		return 0, 0, nil
	} else if err != nil {
		return 0, 0, err
	}
	state, err := s.limiter(key).State(ctx)
	return uint64(rate.Permits), uint64(state.Remaining), err
}

func (s *Store) Take(ctx context.Context, key string) (limit, remaining, reset uint64, ok bool, err error) {
	d, err := s.limiter(key).Allow(ctx, 1)
	if err != nil {
		return 0, 0, 0, false, err
	}
	rate, err := s.limiter(key).Rate(ctx)
	reset = uint64(time.Now().Add(d.NextAfter - late).UnixNano())
	return uint64(rate.Permits), uint64(d.Remaining), reset, d.Allowed, err
}

// late is how much later than an interval a permit may return.
const late = time.Millisecond

// Set fills the bucket, as theirs does: a rate that is set keeps what was taken.
func (s *Store) Set(ctx context.Context, key string, tokens uint64, interval time.Duration) error {
	if _, err := s.limiter(key).Delete(ctx); err != nil {
		return err
	}
	return s.limiter(key).SetRate(ctx, primitives.Rate{Permits: int(tokens), Interval: interval})
}

// Close leaves the client open, which all stores share.
func (s *Store) Close(context.Context) error { return nil }
