// Package redigobackend puts a pool of redigo behind hasp's contract. It is the adapter that
// docs/internals/adding-a-backend.md walks through, complete and as small as one can be: the module of
// somebody else would look the same.
//
// Redigo knows one server and RESP2, so the adapter is for servers that stand alone, or behind an
// address that follows the primary.
package redigobackend

import (
	"errors"
	"fmt"

	"github.com/gomodule/redigo/redis"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/adapter"
	"github.com/hasp-go/hasp/backend/fanout"
)

// Options adjusts a [Backend]. The zero value, like nil, means the defaults.
type Options struct {
	// PubSub adjusts pings, time-outs and queues of subscriptions. Nil means the defaults.
	PubSub *fanout.Options

	_ struct{}
}

// Backend runs scripts and subscribes over a pool of redigo. It implements [backend.Backend], and
// nothing that is optional: no [backend.Batcher], [backend.ReplicaWaiter] or [backend.Scanner]. It is safe for
// concurrent use.
type Backend struct{ adapter.Base }

// New returns a backend over pool, which the caller keeps and closes, after the backend. It sends
// nothing. Subscriptions use one connection more than the pool counts. An idle connection that was
// lost costs the call that meets it an unknown outcome; the pool's TestOnBorrow avoids that.
func New(pool *redis.Pool, opts *Options) (*Backend, error) {
	if pool == nil || pool.Dial == nil && pool.DialContext == nil {
		return nil, errors.New("redigobackend: the pool is nil or cannot dial")
	}
	if opts == nil {
		opts = &Options{}
	}
	d := &driver{pool: pool}
	base, err := adapter.New(d, d, &adapter.Options{
		Can: backend.Capabilities{PubSub: true}, PubSub: opts.PubSub,
	})
	if err != nil {
		return nil, fmt.Errorf("redigobackend: %w", err)
	}
	return &Backend{base}, nil
}
