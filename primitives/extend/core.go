package extend

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/dispatch"
	"github.com/hasp-go/hasp/primitives/internal/leases"
	"github.com/hasp-go/hasp/primitives/internal/line"
	"github.com/hasp-go/hasp/primitives/internal/listen"
	"github.com/hasp-go/hasp/primitives/internal/orphan"
	"github.com/hasp-go/hasp/primitives/internal/renew"
	"github.com/hasp-go/hasp/primitives/internal/script"
	"github.com/hasp-go/hasp/primitives/internal/wait"
	"github.com/hasp-go/hasp/primitives/internal/worded"
	"github.com/hasp-go/hasp/primitives/lease"
)

// Core has the parts that the primitives of one client share: the watchdog, the subscriptions, the calls under way, and
// the identity of their owners. A primitives.Client has one core, and its method Core returns it: Client.Close closes
// it, and a primitive must not. A core of [New] is ended by [Core.Close]. A Core is safe for concurrent use.
type Core struct {
	backend         backend.Backend
	can             backend.Capabilities
	opts            Options
	id              string // the first half of every owner
	calls           *dispatch.Dispatcher
	backgroundCalls *dispatch.Runner // sends calls without a caller
	insistentCalls  *dispatch.Runner // sends those that keep or give back what a caller has
	listen          *listen.Client
	waiters         *wait.Waiters
	lines           *line.Lines
	ears            *listen.Ears
	keeper          *renew.Keeper
	bySlot          atomic.Bool // one script's keys must share a slot
	orphans         *orphan.Orphans
	mismatches      mismatches
	rights          sync.Map // the *Rights of objects of which an acquire has proved the permissions

	ctx    context.Context //nolint:containedctx // Close ends it, and with it the work in the background.
	cancel context.CancelFunc

	work     underWay
	ended    chan struct{} // closed when the first Close returns
	closeErr error         // the result of the first Close
}

// New returns the core of a client over b. It sends nothing. It returns a [*FieldError] if b is nil
// or an option is out of bounds.
//
// Authors of primitives use the core of their users' client instead: objects of one process share
// round trips, subscriptions and renewals only if they share a core.
func New(b backend.Backend, opts *Options) (*Core, error) {
	if b == nil {
		return nil, &FieldError{"backend", "nil"}
	}
	o := opts.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	o.WatchdogLease = o.WatchdogLease.Truncate(time.Millisecond)
	can, calls := b.Capabilities(), dispatch.New(b)
	ctx, cancel := context.WithCancel(context.Background())
	c := &Core{
		backend: b, can: can, opts: o, id: newID(o.IDPrefix), calls: calls,
		backgroundCalls: &dispatch.Runner{Dispatcher: calls, Contained: true},
		insistentCalls:  &dispatch.Runner{Dispatcher: calls, Insistent: true},
		listen:          listen.New(b, o.PollInterval, o.Logger),
		ctx:             ctx, cancel: cancel, work: underWay{idle: make(chan struct{})}, ended: make(chan struct{}),
	}
	c.waiters, c.lines, c.ears = wait.NewWaiters(c.listen), line.New(c.listen), listen.NewEars(c.listen)
	c.bySlot.Store(can.Cluster)
	c.keeper = renew.NewKeeper(c.backgroundCalls, &c.bySlot, o.Logger)
	c.watchServers()
	c.orphans = orphan.New(ctx, c.backgroundCalls, &c.bySlot)
	if err := c.checkReplicas(o.Replicas); err != nil {
		return nil, err
	}
	c.trace()
	c.background(func(context.Context) { o.Logger.Info("client", zap.String("id", c.id)) }) // The logger may block.
	return c, nil
}

// Capabilities returns the capabilities of the backend. Scripts get [backend.Capabilities.Publish]
// as an argument.
func (c *Core) Capabilities() backend.Capabilities { return c.can }

// ID returns the identity of the core: a random UUID, after the option IDPrefix and a dash if that is set.
// It is the first half of each owner's name. The name of a key that belongs to one client may contain it.
func (c *Core) ID() string { return c.id }

// Backend returns the backend, for a primitive that hears messages as long as it is open, and not
// only while it waits: an adder, for example. For everything else use an [Object]: its scripts
// share round trips, and its waiters share subscriptions. Close does not end the primitive's own
// subscriptions.
func (c *Core) Backend() backend.Backend { return c.backend }

// WatchdogLease returns the option WatchdogLease, or its default.
func (c *Core) WatchdogLease() time.Duration { return c.opts.WatchdogLease }

// Healthy reports whether the client works: see [github.com/hasp-go/hasp/primitives.Client.Healthy].
func (c *Core) Healthy(ctx context.Context) error {
	if err := c.health(ctx); err != nil {
		return fmt.Errorf("client is not healthy: %w", err)
	}
	return nil
}

func (c *Core) health(ctx context.Context) error {
	if err := c.work.enter(); err != nil {
		return err
	}
	defer c.work.leave()
	if leases, left := c.keeper.Overdue(); leases > 0 {
		return fmt.Errorf("%w: %d; without a renewal the first is lost in %s", lease.ErrOverdue, leases, left)
	}
	// Of no permission: it reads nothing. A server that denies the key has answered.
	_, err := script.RightsMissing(ctx, c.calls, c.opts.KeyPrefix+c.id, nil)
	if errors.Is(err, backend.ErrKeyDenied) {
		return nil
	}
	return worded.WithCause(ctx, err)
}

// Close ends the client: see [github.com/hasp-go/hasp/primitives.Client.Close]. It also waits for the work of [Object.Go],
// and closes the backend with [Options].ClosesBackend.
func (c *Core) Close(ctx context.Context) error {
	if !c.work.beginClose() {
		select {
		case <-c.ended:
			return c.closeErr
		case <-ctx.Done():
			return fmt.Errorf("close client: %w", ctx.Err())
		}
	}
	c.orphans.Hurry()
	c.listen.Close()
	c.calls.BeginClose(errClosed)
	for _, h := range c.keeper.Close() {
		_ = h.OnLost.(*hold).end(ctx, byClose, leases.ReleaseWait{}) //nolint:forcetypeassert // Holds are this package's.
	}
	c.background(func(context.Context) {
		c.listen.AwaitEnd()
		c.keeper.AwaitEnd()
	})
	c.work.leave()
	err := c.orphans.Explain(c.work.awaitIdle(ctx))
	c.cancel()
	c.calls.Close()
	c.orphans.Drop(errClosed)
	if c.opts.ClosesBackend {
		err = worded.Join(err, c.backend.Close())
	}
	if err != nil {
		c.closeErr = fmt.Errorf("close client: %w", err)
	}
	close(c.ended)
	return c.closeErr
}

// background runs work in a goroutine. Close waits for it. If the client is closed and nothing is
// under way, background does not run work.
func (c *Core) background(work func(context.Context)) {
	if c.work.enterUnlessIdle() {
		go func() {
			defer c.work.leave()
			work(c.ctx)
		}()
	}
}

// watchServers connects the watchdog with what reports that a server may have changed.
func (c *Core) watchServers() {
	nodeOf := func(string) string { return "" }
	if located, ok := c.backend.(backend.Locator); ok {
		nodeOf = located.NodeOf
		c.keeper.NodeOf = nodeOf
	}
	c.calls.OnChange, c.listen.OnChange = c.keeper.Changed, c.keeper.Changed
	c.waiters.OnForced, c.lines.OnForced = c.keeper.RenewNow, c.keeper.RenewNow
	log := c.opts.Logger
	c.calls.OnAway = func(key string, cause error) { // The logger may block.
		c.background(func(context.Context) {
			log.Warn("server away: calls fail at once", zap.String("key", key), zap.Error(cause))
		})
	}
	c.calls.OnBack = func(key string) {
		c.background(func(context.Context) { log.Info("server back", zap.String("key", key)) })
	}
	if c.can.PubSub {
		c.keeper.ChannelOf, c.keeper.OnNodes = watchChannel, listen.NewWatches(c.listen, nodeOf).Keep
	}
}

// watchChannel returns the channel by which the client watches the server with a lease: one on which nobody publishes,
// but which the permissions for the object's own channel include. "": the object has no channel.
func watchChannel(e *renew.Entry) string {
	h := e.OnLost.(*hold) //nolint:forcetypeassert // Holds are this package's.
	channel := h.source.config.Wait.Channel
	switch {
	case h.source.line != nil:
		channel, _ = h.source.line.Line()
	case h.source.config.OwnChannel != nil:
		channel = h.source.config.OwnChannel(h.Owner)
	}
	if channel == "" {
		return ""
	}
	return channel + ":watch"
}

// newOwner returns an owner that was never used before. Without an IDPrefix the form is Redisson's.
func (c *Core) newOwner() string {
	var buffer [64 + len("-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx:") + 20]byte
	owner := append(append(buffer[:0], c.id...), ':')
	return string(strconv.AppendInt(owner, mathrand.Int64(), 10)) //nolint:gosec // A name, no secret.
}

// newID returns the identity of a new core.
func newID(prefix string) string {
	if prefix == "" {
		return newUUID()
	}
	return prefix + "-" + newUUID()
}

// newUUID returns a random UUID. Source: RFC 9562, version 4.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // It never fails.
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// underWay counts the calls of one client, and its work in the background, so Close can wait for them.
type underWay struct {
	mu     sync.Mutex
	closed bool
	count  int
	idle   chan struct{} // closed when the client is closed and nothing is under way
}

// beginClose makes enter fail from then on, and counts Close itself as work under way. It reports
// false if beginClose was called before.
func (w *underWay) beginClose() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.closed = true
	w.count++
	return true
}

func (w *underWay) isClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

// enter counts a call as work under way, until leave. If the client is closed, it returns an error.
func (w *underWay) enter() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errClosed
	}
	w.count++
	return nil
}

// enterUnlessIdle counts work in the background as work under way. It must leave, too.
// enterUnlessIdle reports false if the client is closed and nothing is under way.
func (w *underWay) enterUnlessIdle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed && w.count == 0 {
		return false
	}
	w.count++
	return true
}

// leave ends a call, or work in the background.
func (w *underWay) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count--
	if w.closed && w.count == 0 {
		close(w.idle)
	}
}

// awaitIdle returns nil when the client is closed and nothing is under way any more, or ctx's error if that ends
// first.
func (w *underWay) awaitIdle(ctx context.Context) error {
	select {
	case <-w.idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
