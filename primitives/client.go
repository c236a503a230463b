package primitives

import (
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/dispatch"
	"github.com/hasp-go/hasp/primitives/internal/renew"
	"github.com/hasp-go/hasp/primitives/internal/wait"
)

// minLease is the shortest lease that leaves time for renewing it and for giving it up.
const minLease = 100 * time.Millisecond

// Options configure a [Client]. The zero value of each field means its default.
type Options struct {
	// KeyPrefix is put before every name, to keep applications on one server apart. Redisson does
	// the same by a NameMapper. Zero means none.
	KeyPrefix string

	// WatchdogLease is the lease of what is held without a lease of its own: it is renewed every
	// third of it for as long as it is held, and is what a dead holder costs the others. At least
	// 100 ms, in whole milliseconds. Zero means 30 s, as in Redisson.
	WatchdogLease time.Duration

	// Allowance is how much earlier than the server a holder gives its lease up, for the server's
	// clock running ahead of its own meanwhile. Less than half of any lease. Zero means a tenth of
	// the lease, at least 2 ms.
	Allowance time.Duration

	// PollInterval bounds, give or take a tenth, how long the waiters for one object go without
	// asking the server, in case that a message was lost or never sent. While there is no
	// subscription, or with a backend that cannot subscribe, they ask twenty times as often. At
	// least 10 ms. Zero means 5 s.
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

func (o *Options) withDefaults() Options {
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.WatchdogLease == 0 {
		opts.WatchdogLease = 30 * time.Second
	}
	opts.WatchdogLease = opts.WatchdogLease.Truncate(time.Millisecond)
	if opts.PollInterval == 0 {
		opts.PollInterval = 5 * time.Second
	}
	if opts.CloseTimeout == 0 {
		opts.CloseTimeout = 5 * time.Second
	}
	if opts.TokenTTL == 0 {
		opts.TokenTTL = time.Hour
	}
	if opts.Logger == nil {
		opts.Logger = zap.NewNop()
	}
	return opts
}

func (o *Options) validate() error {
	if err := atLeast("PollInterval", o.PollInterval, 10*time.Millisecond); err != nil {
		return err
	}
	if err := atLeast("CloseTimeout", o.CloseTimeout, 0); err != nil {
		return err
	}
	if err := atLeast("TokenTTL", o.TokenTTL, time.Second); err != nil {
		return err
	}
	return o.validateLease("WatchdogLease", o.WatchdogLease)
}

// validateLease checks a lease of the given field together with the allowance.
func (o *Options) validateLease(field string, lease time.Duration) error {
	if err := atLeast(field, lease, minLease); err != nil {
		return err
	}
	if o.Allowance < 0 || o.Allowance >= lease/2 {
		return &FieldError{"Allowance", fmt.Sprintf(
			"%s is not between 0 and half of %s, %s", o.Allowance, field, lease)}
	}
	return nil
}

func atLeast(field string, d, least time.Duration) error {
	if d < least {
		return &FieldError{field, fmt.Sprintf("%s is under the least, %s", d, least)}
	}
	return nil
}

// allowanceFor returns the allowance of a lease.
func (o *Options) allowanceFor(lease time.Duration) time.Duration {
	if o.Allowance > 0 {
		return o.Allowance
	}
	return max(lease/10, 2*time.Millisecond)
}

// Client makes primitives over one backend. It holds what they share: the watchdog, the
// subscriptions, the calls under way, the identity of their owners. A process needs one for each
// backend. It is safe for concurrent use.
//
// Calls of many goroutines are sent together, in one round trip. A panic of the driver, or of a hook
// in it, is raised in all callers whose calls were sent together. A hook of the driver sees the values
// of a caller's context only if the call was sent alone.
type Client struct {
	cluster bool
	sharded bool
	publish string
	opts    Options
	id      string // a random UUID, the first half of every owner
	calls   *dispatch.Dispatcher
	ownWork dispatch.Background // sends what no caller waits for
	waiters *wait.Waiters
	keeper  *renew.Keeper
	orphans orphans
	owed    owed

	ctx    context.Context //nolint:containedctx // It ends what goes on in the background at Close.
	cancel context.CancelFunc

	mu       sync.Mutex
	closed   bool
	busy     int           // calls and background work under way
	idle     chan struct{} // closed when the client is closed and nothing is under way
	ended    chan struct{} // closed when the first Close returns
	closeErr error         // what that returns
}

// New returns a client over b. It sends nothing. It returns a [*FieldError] for a nil backend or an
// option out of bounds.
func New(b backend.Backend, opts *Options) (*Client, error) {
	if b == nil {
		return nil, fmt.Errorf("new client: %w", &FieldError{"backend", "nil"})
	}
	o := opts.withDefaults()
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("new client: %w", err)
	}
	can, calls := b.Capabilities(), dispatch.New(b)
	ctx, cancel := context.WithCancel(context.Background())
	c := &Client{
		cluster: can.Cluster, sharded: can.Sharded, publish: can.Publish(),
		opts: o, id: newUUID(), calls: calls, ownWork: dispatch.Background{Dispatcher: calls},
		waiters: wait.NewWaiters(b, o.PollInterval, o.Logger),
		keeper:  renew.NewKeeper(dispatch.Background{Dispatcher: calls}, can.Cluster, o.Logger),
		ctx:     ctx, cancel: cancel, idle: make(chan struct{}), ended: make(chan struct{}),
	}
	c.orphans.client = c
	return c, nil
}

// Close ends the client: waiters get [ErrClosed], the contexts of held leases end with that cause
// and what they hold is released. It returns when all that was begun is done, releases and
// renewals included, when ctx ends, or after CloseTimeout. In the last two cases it gives up what is
// still unanswered, with an error that wraps ctx's or [ErrIndeterminate]; what is held on the server
// ends with its lease, and permits that were to be released may be lost. A second Close waits for
// the first, and returns the same. The backend stays open.
func (c *Client) Close(ctx context.Context) error {
	if !c.shut() {
		select {
		case <-c.ended:
			return c.closeErr
		case <-ctx.Done():
			return fmt.Errorf("close client: %w", ctx.Err())
		}
	}
	c.waiters.Close()
	c.calls.Hurry()
	for _, h := range c.keeper.Close() {
		h.OnLost.(*hold).close() //nolint:forcetypeassert // Holds are this package's.
	}
	c.background(func(context.Context) {
		c.waiters.AwaitEnd()
		c.keeper.AwaitEnd()
	})
	c.leave()
	c.closeErr = c.awaitIdle(ctx)
	c.cancel()
	c.calls.Close()
	c.orphans.drop()
	close(c.ended)
	return c.closeErr
}

// awaitIdle returns when nothing is under way any more, or what ended the waiting for that.
func (c *Client) awaitIdle(ctx context.Context) error {
	timer := time.NewTimer(c.opts.CloseTimeout)
	defer timer.Stop()
	select {
	case <-c.idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close client: %w", ctx.Err())
	case <-timer.C:
		return fmt.Errorf("close client: %w: releases were not answered within CloseTimeout, %s",
			ErrIndeterminate, c.opts.CloseTimeout)
	}
}

// shut makes enter fail from now on, and counts the closing itself as being under way. It reports
// false if that was done before.
func (c *Client) shut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.closed = true
	c.busy++
	return true
}

// enter begins a call: Close waits for it to leave.
func (c *Client) enter() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	c.busy++
	return nil
}

// stay counts what goes on after a call that has entered: it must leave, too.
func (c *Client) stay() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy++
}

func (c *Client) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy--
	if c.closed && c.busy == 0 {
		close(c.idle)
	}
}

// lost is why a hold has ended that nobody released.
func (c *Client) lost() error {
	if c.isClosed() {
		return ErrClosed
	}
	return ErrLost
}

func (c *Client) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// background runs work that Close waits for, unless the client is closed and nothing is under way:
// then there is nothing left to do.
func (c *Client) background(work func(context.Context)) {
	if c.stayUnlessIdle() {
		go func() {
			defer c.leave()
			work(c.ctx)
		}()
	}
}

// stayUnlessIdle counts what goes on in the background, and must leave, too. It reports false if the
// client is closed and nothing is under way.
func (c *Client) stayUnlessIdle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed && c.busy == 0 {
		return false
	}
	c.busy++
	return true
}

// key returns the key of the object called name.
func (c *Client) key(name string) string { return c.opts.KeyPrefix + name }

// newOwner returns an owner of Redisson's form that is never used again.
func (c *Client) newOwner() string {
	var buffer [len("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx:") + 20]byte
	owner := append(append(buffer[:0], c.id...), ':')
	return string(strconv.AppendInt(owner, mathrand.Int64(), 10)) //nolint:gosec // A name, no secret.
}

// newUUID returns a random UUID. Source: RFC 9562, version 4.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // It never fails.
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
