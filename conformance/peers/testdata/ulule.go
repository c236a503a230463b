// Package redis is a store for ulule's limiter, by a Throttle.
package redis

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ulule/limiter/v3"

	"github.com/hasp-go/hasp/conformance/peers/testdata/shared"
	"github.com/hasp-go/hasp/primitives"
)

type store struct {
	prefix  string
	reached sync.Map // the last answer for a key, since theirs counts refused requests, too
}

// NewStoreWithOptions ignores the connection, which is to the server of the run.
func NewStoreWithOptions(_ any, o limiter.StoreOptions) (limiter.Store, error) {
	return &store{prefix: o.Prefix}, nil
}

// stores counts those that ask for no prefix: each has keys of its own.
var stores atomic.Int64

// NewStore stands for the store in memory, too.
func NewStore() limiter.Store { return &store{prefix: fmt.Sprint("store", stores.Add(1))} }

func (s *store) throttle(key string, r limiter.Rate) *primitives.Throttle {
	limit := primitives.Limit{Permits: int(r.Limit), Interval: r.Period}
	return shared.Throttle(shared.Client(), s.prefix+":"+key, limit)
}

func (s *store) Get(ctx context.Context, key string, r limiter.Rate) (limiter.Context, error) {
	return s.Increment(ctx, key, 1, r)
}

func (s *store) Increment(ctx context.Context, key string, n int64, r limiter.Rate) (limiter.Context, error) {
	decision, err := s.throttle(key, r).Allow(ctx, int(n))
	s.reached.Store(key, !decision.Allowed)
	return state(r, decision, !decision.Allowed), err
}

func (s *store) Peek(ctx context.Context, key string, r limiter.Rate) (limiter.Context, error) {
	decision, err := s.throttle(key, r).State(ctx)
	reached, _ := s.reached.Load(key)
	return state(r, decision, reached == true), err
}

func (s *store) Reset(ctx context.Context, key string, r limiter.Rate) (limiter.Context, error) {
	s.reached.Delete(key)
	if _, err := s.throttle(key, r).Delete(ctx); err != nil {
		return limiter.Context{}, err
	}
	return s.Peek(ctx, key, r)
}

func state(r limiter.Rate, d primitives.Decision, reached bool) limiter.Context {
	reset := time.Now().Add(d.ResetAfter).Unix()
	return limiter.Context{Limit: r.Limit, Remaining: int64(d.Remaining), Reset: reset, Reached: reached}
}
