// Package shared is what the shims share: a client on the server of the run, and servers whose clock a test sets.
package shared

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hasp-go/hasp/backend/embedded"
	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/primitives"
)

// Client returns the process's one client, on the server that REDIS_URI names.
var Client = sync.OnceValue(func() *primitives.Client {
	opts, err := redis.ParseURL(os.Getenv("REDIS_URI"))
	if err != nil {
		panic(err)
	}
	return Got(goredisbackend.NewClient(redis.NewClient(opts), nil))
})

// Got returns value, and panics with err.
func Got[V any](value V, err error) V {
	if err != nil {
		panic(err)
	}
	return value
}

// Throttle returns a throttle that refuses while the server is away.
func Throttle(client *primitives.Client, name string, limit primitives.Limit) *primitives.Throttle {
	return client.NewThrottle(name, limit, &primitives.ThrottleOptions{Unavailable: primitives.Refuse(), Timeout: time.Hour})
}

// Clocked is a client of a server of its own, whose clock a test sets. Between two calls of Set time goes on, too: tests
// need virtual time.
type Clocked struct {
	*primitives.Client
	server  *embedded.Server
	at, set time.Time
}

func NewClocked() *Clocked {
	server := embedded.NewServer()
	return &Clocked{Client: Got(embedded.NewClient(server, nil)), server: server}
}

func (c *Clocked) Set(now time.Time) {
	if !c.set.IsZero() {
		c.server.Advance(now.Sub(c.at) - time.Since(c.set))
	}
	c.at, c.set = now, time.Now()
}

// Allow is the throttle's Allow; its State, if n is 0; and what the State says, if n is more than the burst.
func Allow(ctx context.Context, t *primitives.Throttle, n, burst int) (primitives.Decision, error) {
	if n > 0 && n <= burst {
		return t.Allow(ctx, n)
	}
	decision, err := t.State(ctx)
	decision.Allowed = n == 0
	return decision, err
}
