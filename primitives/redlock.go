package primitives

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
)

// RedLockOptions configure a [RedLock]. The zero value of each field means its default.
type RedLockOptions struct {
	// Lease is how long the lock is held at most: nobody renews it. In whole milliseconds, at least
	// 100 ms. Zero means each client's WatchdogLease, which the watchdogs renew until Release. Nodes that
	// come back are asked for the lock again only then.
	Lease time.Duration

	// NodeTimeout is how long one node may take to answer: a silent node costs no more. Much less than
	// the lease. Zero means a twentieth of the lease, at most 1 s.
	NodeTimeout time.Duration

	_ struct{}
}

// RedLock is a [Lock] on several servers, its nodes. No node may be a replica of another. The holder holds
// the lock on more than half of the nodes. So the lock stays available while a minority is down, and no
// failover can grant it twice.
//
// # The lease
//
// All nodes are asked side by side. Each part of the lease, one for each node, counts from before its own
// request was sent and ends earlier than the node's by ClockDrift; the
// lease lasts for as long as more than half of the parts do. This is the algorithm's validity time, counted
// for each node by itself. The watchdogs renew each part. A node that is lost, or did not answer, is asked
// again each third of the lease, so that the lease survives one node after the other. Once no majority is
// confirmed, the lease ends by the clock with [ErrLost], and what is left is released.
//
// [Lease.Parts] returns the parts, nil for a node on which the lock is not held now. The lease has no token:
// nodes do not know each other's, and a majority's highest may be lower than one before. Where two holders
// would cost data, use a [FencedLock] on one server, or a consensus system.
//
// # What it rests on
//
// A node that loses its data, as by a restart, forgets its grant. It must stay out for the longest lease
// that is used, or it may grant the lock again while another holds it; the same goes for a node whose clock
// jumps by more than ClockDrift. docs/guarantees.md has more.
//
// A RedLock is not fair. Waiters try again after pauses, since there are no messages that a majority has
// released. Under [Lease.Reenter] it is re-entered on each node that holds it. It is a name, not a resource,
// and safe for concurrent use.
//
// Source: https://redis.io/docs/latest/develop/use/patterns/distributed-locks; Redisson's RedissonRedLock,
// which excludes this one by the same key on each node.
type RedLock struct {
	name    string
	nodes   []*Lock
	need    int
	timeout time.Duration // of one node
	renewed bool          // the lease is
	pause   time.Duration // before a node is asked again that does not hold
	invalid error
}

// NewRedLock returns the lock called name on the servers of the given clients. It sends nothing. The methods
// return a [*FieldError] for an empty name, an invalid option, no clients, or a client that is nil or comes
// twice. Use an odd number: of four nodes no more may fail than of three.
func NewRedLock(clients []*Client, name string, opts *RedLockOptions) *RedLock {
	var o RedLockOptions
	if opts != nil {
		o = *opts
	}
	l := &RedLock{
		name: name, need: len(clients)/2 + 1, timeout: o.NodeTimeout, renewed: o.Lease == 0,
		invalid: checkNodes(clients),
	}
	if l.invalid != nil {
		return l
	}
	lease := o.Lease
	for _, c := range clients {
		node := c.NewLock(name, &LockOptions{Lease: o.Lease})
		l.nodes, l.invalid = append(l.nodes, node), cmp.Or(l.invalid, node.invalid)
		if l.renewed {
			lease = max(lease, c.core.WatchdogLease())
		}
	}
	if o.NodeTimeout == 0 {
		l.timeout = min(lease/20, time.Second)
	}
	l.pause = lease / 3
	l.invalid = cmp.Or(l.invalid, extend.AtLeast("NodeTimeout", l.timeout, time.Millisecond))
	return l
}

func checkNodes(clients []*Client) error {
	if len(clients) == 0 {
		return &FieldError{Field: "clients", Problem: "none"}
	}
	for i, c := range clients {
		if c == nil {
			return &FieldError{Field: "clients", Problem: fmt.Sprintf("number %d is nil", i+1)}
		}
		if first := slices.Index(clients, c); first < i {
			return &FieldError{Field: "clients", Problem: fmt.Sprintf(
				"numbers %d and %d are the same", first+1, i+1)}
		}
	}
	return nil
}

// Name returns the lock's name, without the clients' prefixes.
func (l *RedLock) Name() string { return l.name }

// lockKeys implements [keyed].
func (l *RedLock) lockKeys() (keys []lockKey) {
	for _, n := range l.nodes {
		keys = append(keys, n.lockKeys()...)
	}
	return keys
}

// redPauses part waiters of different processes, of whom each may get some nodes and none a majority.
var redPauses = extend.Backoff{First: 10 * time.Millisecond, Most: 200 * time.Millisecond}

// Lock waits until it holds the lock on a majority of the nodes, or ctx ends. If the lock is free it takes
// one round trip to the slowest node of the fastest majority, and for the others at most as long again, or
// 10 ms.
//
// If no majority answers at the first attempt, Lock returns an error that wraps [ErrUnavailable], and
// [ErrIndeterminate] if nodes may have granted what they did not confirm. Once it was refused it waits on
// through outages, for as long as ctx lasts.
//
// On error nothing is held, and what may have been taken is released in the background, on each node that
// was asked. Other errors are those of [Lock.Lock], where a majority returned them.
func (l *RedLock) Lock(ctx context.Context) (*Lease, error) {
	return l.acquire(func(a *redAttempt) error {
		return extend.Repeat(ctx, redPauses, ErrNotAcquired, a)
	})
}

// TryLock acquires the lock if a majority grants it, and returns [ErrNotAcquired] if so many refuse it that
// none can. It asks each node once.
func (l *RedLock) TryLock(ctx context.Context) (*Lease, error) {
	return l.acquire(func(a *redAttempt) error { return extend.TryOnce(ctx, a) })
}

// Do is [Lock.Do] for a majority of the nodes.
func (l *RedLock) Do(ctx context.Context, work func(ctx context.Context, lease *Lease) error) error {
	return extend.Do(ctx, l.Lock, work)
}

func (l *RedLock) acquire(run func(a *redAttempt) error) (*Lease, error) {
	if l.invalid != nil {
		return nil, fmt.Errorf("acquire %s: %w", l.describe(), l.invalid)
	}
	a := &redAttempt{RedLock: l}
	if err := run(a); err != nil {
		return nil, fmt.Errorf("acquire %s: %w", l.describe(), err)
	}
	return a.lease, nil
}

func (l *RedLock) describe() string { return fmt.Sprintf("red lock %q", l.name) }

// redAttempt is one caller's attempt.
type redAttempt struct {
	*RedLock
	lease *Lease
}

// Try implements [extend.Attempt].
func (a *redAttempt) Try(ctx context.Context) (extend.Answer, error) {
	leases, errs := a.askAll(ctx)
	granted, refused := 0, 0
	for _, err := range errs {
		switch {
		case err == nil:
			granted++
		case isRefusal(err):
			refused++
		}
	}
	if granted >= a.need {
		lease, err := a.join(leases)
		a.lease = lease
		return extend.Answer{Granted: err == nil}, err
	}
	_ = extend.ReleaseAll(ctx, leases, a.timeout) // What is not answered goes on in the background.
	left := slices.IndexFunc(errs, func(err error) bool { return ctx.Err() != nil && errors.Is(err, ctx.Err()) })
	switch {
	case left >= 0:
		return extend.Answer{}, errs[left]
	case granted+refused >= a.need:
		return extend.Answer{}, nil
	}
	return extend.Answer{}, a.noMajority(granted+refused, errs)
}

// askAll asks all nodes side by side, and returns a lease or an error for each. Once it is decided whether
// there is a majority, it waits for the other nodes as long as that took, and no longer.
func (l *RedLock) askAll(ctx context.Context) ([]*Lease, []error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	leases, began := make([]*Lease, len(l.nodes)), time.Now()
	var granted, failed atomic.Int32
	errs := extend.Together(len(l.nodes), func(i int) (err error) {
		leases[i], err = l.nodes[i].TryLock(ctx)
		if err == nil && int(granted.Add(1)) == l.need || err != nil && int(failed.Add(1)) == len(l.nodes)-l.need+1 {
			time.AfterFunc(max(time.Since(began), leastStraggling), cancel)
		}
		return err
	})
	return leases, errs
}

// leastStraggling is how long the other nodes have at least.
const leastStraggling = 10 * time.Millisecond

// join makes one lease of those of a majority.
func (l *RedLock) join(leases []*Lease) (*Lease, error) {
	config := extend.JointConfig{
		Name: l.describe(), Parts: leases, Need: l.need, Pause: l.pause, ReleaseTimeout: l.timeout,
	}
	if l.renewed {
		config.Regain = l.regain
	}
	return extend.NewJoint(config)
}

// regain asks one node again for the lock.
func (l *RedLock) regain(ctx context.Context, node int) (*Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	return l.nodes[node].TryLock(ctx)
}

// noMajority returns the error of an attempt for which too few nodes gave an answer.
func (l *RedLock) noMajority(answered int, errs []error) error {
	for i, err := range errs {
		if ended := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded); ended {
			errs[i] = fmt.Errorf("%w: node %d gave no answer in time", backend.ErrIndeterminate, i+1)
		}
	}
	return fmt.Errorf("%d of %d nodes answered, %d are needed: %w",
		answered, len(errs), l.need, errors.Join(slices.DeleteFunc(errs, isRefusal)...))
}
