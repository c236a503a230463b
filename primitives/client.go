package primitives

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/limits"
	"github.com/hasp-go/hasp/primitives/internal/slogzap"
	"github.com/hasp-go/hasp/primitives/internal/worded"
	"github.com/hasp-go/hasp/primitives/trace"
)

// Options configure a [Client]. The zero value of each field means its default.
type Options struct {
	// KeyPrefix is prepended to every name, to separate applications on one server. Redisson does
	// the same with a NameMapper. Zero means none.
	KeyPrefix string

	// IDPrefix begins the client's id, before a dash and a random UUID, and so the names of its owners: then a
	// lock on the server, or its Holder, shows which process holds it. Pass the pod's name, for example, which
	// is os.Hostname in Kubernetes. Any user that may read the keys sees it. At most 64 letters, digits, dots,
	// underscores and dashes of ASCII. Zero means that the id is the UUID alone.
	IDPrefix string

	// WatchdogLease is the length of a lease whose options set none. The watchdog renews such a
	// lease every third of that time while it is held. If a holder crashes, waiters wait for up to
	// WatchdogLease. At least 100 ms, in whole milliseconds. Zero means 30 s, as in Redisson.
	WatchdogLease time.Duration

	// MaxHold is the longest time for which the watchdog renews one lease, against holders that
	// hang. MaxHold after the grant the lease is lost, as if it could not be renewed: its contexts
	// end with [ErrLost], and the client releases it, so another owner can acquire the lock. A
	// holder that ignores its contexts continues to work at the same time as the next holder: then
	// only the fencing token protects the resource. It also bounds each term of an [Election] and each
	// run of a [PeriodicJob]. For a [RedLock], MaxHold bounds the part on
	// each node, and starts again when a part is regained. At least WatchdogLease. Zero means that
	// the watchdog renews a lease for as long as it is held.
	MaxHold time.Duration

	// ClockDrift is how much earlier than on the server a lease ends for its holder, because the
	// server's clock may run faster than the client's. Less than half of any lease. Zero means a
	// tenth of the lease, at least 2 ms. If it is more than 3.3 s, a crashed waiter of a [Mutex] can
	// idle it for three times ClockDrift, and not for 10 s.
	ClockDrift time.Duration

	// Replicas is how many replicas must acknowledge a grant, and each renewal, of all objects with leases whose own
	// Replicas is zero: of locks of each kind, and of an [Election], [PeriodicJob], [PermitSemaphore] and
	// [CountingSemaphore]. [LockOptions] has the details. -1 as an object's Replicas means none. The clocks of the
	// servers must differ by less than ClockDrift: if the clock of a promoted server is ahead, the key expires that much
	// earlier. If Replicas is the number of all replicas, and one of them is lost for a lease, all such leases end: set
	// fewer, or use a [RedLock], if that is worse than two holders. If it is less, a replica that did not acknowledge
	// can still be elected, and grant a held lock again. [New] returns a [*FieldError] if the backend cannot wait for
	// replicas. Zero means none.
	Replicas int

	// PollInterval is the longest time between two tries of a client's waiters for one object, give
	// or take a tenth, because a message may be lost. Without a subscription, or with a backend
	// that cannot subscribe, waiters try twenty times as often. At least 10 ms. Zero means 5 s.
	PollInterval time.Duration

	// TokenTTL is how long after a grant the server keeps the last fencing token of a lock's name.
	// After that the next token is the time of the server's clock. That is higher, too, unless the
	// clock was set back by more than TokenTTL meanwhile. TokenTTL concerns the server's clock and
	// not a lock's lease, so one value serves all locks of a client. In whole milliseconds, at
	// least 1 s. Zero means 1 h.
	TokenTTL time.Duration

	// Logger receives failures that no call returns, such as failed renewals and subscriptions. Nil
	// disables logging, unless Slog is set.
	Logger *zap.Logger

	// Slog is Logger for a program that logs by log/slog. Only one of them may be set.
	Slog *slog.Logger

	// Tracer observes acquires, the ends of leases, renewals, gaps of subscriptions, completed jobs, and options
	// that differ from what the server has. [trace.Join] makes one tracer of several. Nil means none.
	Tracer *trace.Tracer

	_ struct{}
}

func (o *Options) core() *extend.Options {
	return &extend.Options{
		KeyPrefix: o.KeyPrefix, IDPrefix: o.IDPrefix, WatchdogLease: o.WatchdogLease, MaxHold: o.MaxHold, ClockDrift: o.ClockDrift,
		Replicas: o.Replicas, PollInterval: o.PollInterval, Logger: o.Logger, Tracer: o.Tracer,
	}
}

// Client makes primitives over one backend. They share its watchdog, its subscriptions, its batches
// of calls and the identity of its owners. A process needs one client for each backend. It is safe
// for concurrent use.
//
// The client sends the calls of many goroutines together, in one round trip. A panic of the driver,
// or of a hook in it, is raised in all callers whose calls were sent together. A hook of the driver
// sees the values of a caller's context only if the call was sent alone.
type Client struct {
	core           *extend.Core
	tokenTTL       time.Duration
	clockDrift     time.Duration
	pendingPermits pendingPermits
	idBlocks       sync.Map // the idBlocks of its generators, by key
	adders         openAdders
	localLimits    limits.Local
	localRefusals  localRefusals
	tracer         *trace.Tracer // nil: none
	kinds          sync.Map      // the leaseKinds of its objects, by their scripts
	warned         sync.Once     // of a RateLimiter with many permits
	memoFlights    *flights
}

// New returns a client over b. It sends nothing. It returns a [*FieldError] if b is nil or an
// option is out of bounds.
//
// For a backend with default options NewClient of the adapter's package, such as
// rueidisbackend.NewClient, is shorter.
func New(b backend.Backend, opts *Options) (*Client, error) { return newClient(b, opts, false) }

// NewClosing is New for a backend that only this client uses: [Client.Close] closes the backend,
// after the releases, and so does NewClosing if it fails. NewClient of each adapter calls it.
func NewClosing(b backend.Backend, opts *Options) (*Client, error) {
	c, err := newClient(b, opts, true)
	if err != nil && b != nil {
		err = worded.Join(err, b.Close())
	}
	return c, err
}

func newClient(b backend.Backend, opts *Options, closes bool) (*Client, error) {
	o := *cmp.Or(opts, new(Options))
	o.TokenTTL = cmp.Or(o.TokenTTL, time.Hour)
	if o.Slog != nil {
		if o.Logger != nil {
			return nil, &FieldError{Field: "Slog", Problem: "Logger is set, too"}
		}
		o.Logger = slogzap.New(o.Slog)
	}
	coreOptions := o.core()
	coreOptions.ClosesBackend = closes
	core, err := extend.New(b, coreOptions)
	if err == nil {
		err = extend.AtLeast("TokenTTL", o.TokenTTL, time.Second)
	}
	if err != nil {
		return nil, fmt.Errorf("new client: %w", err)
	}
	return &Client{core: core, tokenTTL: o.TokenTTL, clockDrift: o.ClockDrift, tracer: o.Tracer, memoFlights: newFlights()}, nil
}

// Close ends the client. Waiters get [ErrClosed], the contexts of held leases end with that cause,
// and Close releases these leases. It also closes the client's adders. A client of [NewClosing]
// then closes the backend, which takes up to a second more on a silent link, and joins the backend's
// error. Otherwise the backend stays open.
//
// Close returns when all calls, releases and renewals are done, or when ctx ends. If ctx ends first,
// Close gives up the unanswered requests, and its error wraps ctx's error: held leases expire on the
// server, and permits of a [Semaphore] that were being released may be lost. A call that Close gives
// up returns at once, unless its context cannot end: then it may return only when the driver does.
//
// Only ctx limits Close. At shutdown pass context.WithTimeout(context.Background(), 5*time.Second). If
// ctx cannot end and the server does not answer, Close waits for each call for as long as the backend
// does. It repeats the release of each lease until the lease has ended on the server. It repeats the
// release of permits of a [Semaphore], which have no lease, until a server takes it.
//
// If the backend or its driver was closed before, nothing can be released, and the error wraps
// [ErrClosed]. Each of these errors names one object that may still be held, and says how many more
// there are. A second Close waits for the first, and returns the same error.
func (c *Client) Close(ctx context.Context) error {
	c.adders.close()
	c.memoFlights.close()
	return c.core.Close(ctx)
}

// Healthy returns nil if the client can work now, and otherwise the reason why not, for a readiness probe. It is
// not for a liveness probe: a restart ends no outage, and loses the leases that the client still holds. The error wraps
//
//   - [ErrOverdue] if the watchdog has held leases that it should renew after a third of their length, and has not
//     renewed after two thirds. The error says how many, and how long the first of them lasts. Nothing was sent;
//   - [ErrUnavailable] if no server could be reached;
//   - ctx's error if ctx ended before the server answered. Only ctx and the backend bound the wait;
//   - [ErrNoPermission] if the user may not run scripts, and any other error of the server;
//   - [ErrClosed] if the client or its backend is closed.
//
// Healthy takes one round trip, by a script that touches no data. In a cluster it asks one node, always the same, which
// the client's id determines. It does not look for lost leases, nor whether the server accepts writes.
func (c *Client) Healthy(ctx context.Context) error { return c.core.Healthy(ctx) }

// ID returns the identity of the client, with which the names of its owners begin: [Options].IDPrefix and a
// random UUID. New logs it.
func (c *Client) ID() string { return c.core.ID() }

// Core returns the core from which other packages make primitives: see package extend. These
// primitives end with c, like its own.
func (c *Client) Core() *extend.Core { return c.core }
