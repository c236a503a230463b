package primitives

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
)

// Options configure a [Client]. The zero value of each field means its default.
type Options struct {
	// KeyPrefix is put before every name, to keep applications on one server apart. Redisson does
	// the same by a NameMapper. Zero means none.
	KeyPrefix string

	// WatchdogLease is the lease of a lock without a lease of its own. The watchdog renews it every
	// third of that time while the lock is held. If a holder crashes, the others wait for up to that
	// time. At least 100 ms, in whole milliseconds. Zero means 30 s, as in Redisson.
	WatchdogLease time.Duration

	// MaxHold is for how long the watchdog renews one lease, against holders that hang. That long after the
	// grant the lease is lost, as if it could not be renewed: its contexts end with [ErrLost], and it is
	// released, so that another may have the lock. A holder that does not look at them goes on, beside
	// that other one: only its fencing token protects the resource. Of a [RedLock] it bounds the part on each
	// node, and a part that was regained begins anew. Not less than WatchdogLease. Zero means that a lease is
	// renewed for as long as it is held.
	MaxHold time.Duration

	// ClockDrift is how much earlier than the server a holder gives its lease up, in case that the
	// server's clock runs faster than its own. Less than half of any lease. Zero means a tenth of the
	// lease, at least 2 ms.
	ClockDrift time.Duration

	// PollInterval is the longest time between two tries by the waiters for one object, give or take a
	// tenth, in case that a message was lost or never sent. While there is no subscription, or with a
	// backend that cannot subscribe, they try twenty times as often. At least 10 ms. Zero means 5 s.
	PollInterval time.Duration

	// CloseTimeout bounds how long Close waits for releases to be answered. Zero means 5 s.
	CloseTimeout time.Duration

	// TokenTTL is how long after a grant the server keeps the fencing token of a lock's name. Later
	// the next token is the time of the server's clock, which is higher as well, unless that clock
	// was set back by more than TokenTTL meanwhile. It concerns the server's clock and not a lock's
	// lease, so one value serves all locks of a client. In whole milliseconds, at least 1 s. Zero
	// means 1 h.
	TokenTTL time.Duration

	// Logger receives failures that no call returns, as of renewals and subscriptions. Nil disables
	// logging.
	Logger *zap.Logger

	_ struct{}
}

// core returns those options that concern all primitives.
func (o *Options) core() *extend.Options {
	return &extend.Options{
		KeyPrefix: o.KeyPrefix, WatchdogLease: o.WatchdogLease, MaxHold: o.MaxHold, ClockDrift: o.ClockDrift,
		PollInterval: o.PollInterval, CloseTimeout: o.CloseTimeout, Logger: o.Logger,
	}
}

// Client makes primitives over one backend. It holds what they share: the watchdog, the
// subscriptions, the calls under way, the identity of their owners. A process needs one for each
// backend. It is safe for concurrent use.
//
// Calls of many goroutines are sent together, in one round trip. A panic of the driver, or of a hook
// in it, is raised in all callers whose calls were sent together. A hook of the driver sees the values
// of a caller's context only if the call was sent alone.
type Client struct {
	core           *extend.Core
	tokenTTL       time.Duration
	pendingPermits pendingPermits
	idBlocks       idBlocks
	rateNeeds      rateNeeds
	adders         openAdders
}

// New returns a client over b. It sends nothing. It returns a [*FieldError] for a nil backend or an
// option out of bounds.
func New(b backend.Backend, opts *Options) (*Client, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.TokenTTL == 0 {
		o.TokenTTL = time.Hour
	}
	core, err := extend.New(b, o.core())
	if err == nil {
		err = extend.AtLeast("TokenTTL", o.TokenTTL, time.Second)
	}
	if err != nil {
		return nil, fmt.Errorf("new client: %w", err)
	}
	return &Client{core: core, tokenTTL: o.TokenTTL}, nil
}

// Close ends the client: waiters get [ErrClosed], the contexts of held leases end with that cause, and
// Close releases what they hold. It returns when everything that was begun is done, releases and
// renewals included, when ctx ends, or after CloseTimeout. In the last two cases it gives up the
// requests without an answer, and its error wraps ctx's or [ErrIndeterminate]: what is still held on
// the server expires with its lease, and permits that were being released may be lost.
// A call that is given up returns at once, unless its context cannot end: then it may return only when the driver does.
// If the backend was closed before, or its client, nothing can be released: the error wraps [ErrClosed]. Each of
// these errors names an object that may still be held, and says how many more there are. A second Close waits for
// the first, and returns the same. Adders of the client are closed. The backend stays open.
func (c *Client) Close(ctx context.Context) error {
	c.adders.close()
	return c.core.Close(ctx)
}

// Core returns the core from which packages outside of this one make primitives: see package extend.
// They end with c, as its own do.
func (c *Client) Core() *extend.Core { return c.core }
