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
	"github.com/hasp-go/hasp/primitives/internal/leases"
	"github.com/hasp-go/hasp/primitives/internal/worded"
	"github.com/hasp-go/hasp/primitives/lease"
)

// RedLockOptions configure a [RedLock]. The zero value of each field means its default.
type RedLockOptions struct {
	// Lease is as in [LockOptions], where zero means each client's WatchdogLease. Only with zero does the client ask a node
	// again that was lost.
	Lease time.Duration

	// NodeTimeout is how long one node may take to answer: a silent node costs no more. It should
	// be much less than the lease. Zero means a twentieth of the lease, at most 1 s.
	NodeTimeout time.Duration

	// Plain makes the lock of each node a [PlainLock] instead of a [Lock]: then redsync's mutex with a pool for each node
	// and the RedLock exclude each other, and Redisson's does not.
	Plain bool

	_ struct{}
}

// RedLock is a [Lock] on several servers, its nodes. No node may be a replica of another node. The
// holder holds the lock on more than half of the nodes. So the lock stays available while a
// minority of the nodes is down, and no failover can grant it twice.
//
// # The lease
//
// All nodes are asked at the same time. The lease has one part for each node. A part starts before
// its request is sent, and ends earlier than the lease on the node, by ClockDrift. The RedLock's
// lease lasts as long as more than half of its parts. This is the algorithm's validity time,
// counted for each node separately. The watchdogs renew each part. If a part is lost, or its node
// did not answer, the client asks that node again every third of the lease, so the lease
// survives the loss of one node after the other. When a majority is no longer confirmed, the lease
// ends by the clock with [ErrLost], and the client releases the remaining parts.
//
// [Lease.Parts] returns the parts, with nil for a node on which the lock is not held at present.
// The lease has no token: a node does not know the tokens of the others, and the highest token of
// one majority may be lower than the token of an earlier majority. If two holders at once would
// cost data, use a [FencedLock] on one server, or a consensus system.
//
// # What it rests on
//
// A node that loses its data, for example by a restart, forgets its grant. It must stay offline for
// the longest lease in use: otherwise it may grant the lock again while it is still held. The same
// applies to a node whose clock jumps by more than ClockDrift. See docs/guarantees.md.
//
// A RedLock is not fair. Waiters try again after pauses, since no message reports the release on a
// majority. Under a [Lease.Reenter] context it is re-entered on each node that holds it. A RedLock
// is a name, not a resource, and safe for concurrent use.
//
// Source: https://redis.io/docs/latest/develop/use/patterns/distributed-locks; Redisson's
// RedissonRedLock, which uses the same key on each node, so the two exclude each other.
type RedLock struct {
	name    string
	nodes   []redNode
	need    int
	timeout time.Duration // of one node
	renewed bool          // the lease is
	pause   time.Duration // before a node that does not hold the lock is asked again
	checked
}

// redNode is the lock of one node.
type redNode interface {
	TryLock(ctx context.Context) (*Lease, error)
	self() *object
}

// NewRedLock returns the lock called name on the servers of the given clients. It sends nothing.
// The methods return a [*FieldError] for an empty name, an invalid option, no clients, or a client
// that is nil or is given twice. Use an odd number of clients: with four nodes no more nodes may
// fail than with three.
func NewRedLock(clients []*Client, name string, opts *RedLockOptions) *RedLock {
	o := *cmp.Or(opts, new(RedLockOptions))
	l := &RedLock{
		name: name, need: len(clients)/2 + 1, renewed: o.Lease == 0, checked: checked{checkNodes(clients)},
	}
	if l.invalid != nil {
		return l
	}
	lease := o.Lease
	for _, c := range clients {
		var node redNode = c.NewLock(name, &LockOptions{Lease: o.Lease})
		if o.Plain {
			node = c.NewPlainLock(name, &PlainLockOptions{Lease: o.Lease})
		}
		l.nodes, l.invalid = append(l.nodes, node), cmp.Or(l.invalid, node.self().invalid)
		if l.renewed {
			lease = max(lease, c.core.WatchdogLease())
		}
	}
	l.timeout, l.pause = cmp.Or(o.NodeTimeout, min(lease/20, time.Second)), lease/3
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
		keys = append(keys, n.self().lockKeys()...)
	}
	return keys
}

// redPauses separate the tries of different processes, which could otherwise each get some nodes,
// and none of them a majority.
var redPauses = extend.Backoff{First: 10 * time.Millisecond, Most: 200 * time.Millisecond}

// Lock waits until it holds the lock on a majority of the nodes, or ctx ends. If the lock is free,
// Lock takes one round trip to the slowest node of the fastest majority. Then it waits for the
// other nodes, for the same time again or for 10 ms, whichever is longer.
//
// If no majority answers the first attempt, Lock returns an error that wraps [ErrUnavailable], and
// [ErrIndeterminate] if a node may have granted the lock without an answer. If a majority
// has once refused it, the caller is a waiter, as in [Lock.Lock]: it waits until ctx ends.
//
// After an error the caller holds nothing: the clients release possible grants in the background,
// on each node that was asked. Other errors are the same as for [Lock.Lock], if a majority returned
// them.
func (l *RedLock) Lock(ctx context.Context) (*Lease, error) {
	return l.acquire(func(a *redAttempt) error {
		if err := l.checkSelfDeadlock(ctx); err != nil {
			return err
		}
		return new(extend.Object).Wait(ctx, extend.WaitSpec{Backoff: redPauses, Refusal: ErrNotAcquired}, a)
	})
}

// checkSelfDeadlock returns [ErrSelfDeadlock] if the caller's own leases leave no majority of the
// nodes free.
func (l *RedLock) checkSelfDeadlock(ctx context.Context) (err error) {
	free := len(l.nodes)
	for _, node := range l.nodes {
		if kept := node.self().base.CheckSelfDeadlock(ctx); kept != nil {
			free, err = free-1, kept
		}
	}
	if free >= l.need || ctx.Err() != nil {
		return nil
	}
	return err
}

// TryLock acquires the lock if a majority of the nodes grants it, and returns [ErrNotAcquired] if a
// majority answers, but fewer nodes than a majority grant it. It asks each node once.
func (l *RedLock) TryLock(ctx context.Context) (*Lease, error) {
	return l.acquire(func(a *redAttempt) error {
		answer, err := a.Try(ctx)
		if err == nil && !answer.Granted {
			err = ErrNotAcquired
		}
		return err
	})
}

// Do is [Lock.Do] for a majority of the nodes.
func (l *RedLock) Do(ctx context.Context, work func(ctx context.Context, lease *Lease) error) error {
	return lease.Do(ctx, l.Lock, work)
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

func (a *redAttempt) Try(ctx context.Context) (extend.Answer, error) {
	parts, errs := a.askAll(ctx)
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
		lease, err := a.join(parts)
		a.lease = lease
		return extend.Answer{Granted: err == nil}, err
	}
	_ = leases.ReleaseAll(ctx, parts, a.timeout) // Unanswered releases continue in the background.
	left := slices.IndexFunc(errs, func(err error) bool { return ctx.Err() != nil && errors.Is(err, ctx.Err()) })
	switch {
	case left >= 0:
		return extend.Answer{}, withoutLock(errs[left])
	case granted+refused >= a.need:
		return extend.Answer{}, nil
	}
	return extend.Answer{}, a.noMajority(granted+refused, errs)
}

// askAll asks all nodes concurrently, and returns a lease or an error for each. Once it is decided
// whether there is a majority, it waits for the other nodes for the same time again, but at least
// for leastStraggling.
func (l *RedLock) askAll(ctx context.Context) ([]*leases.Lease, []error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	parts, began := make([]*leases.Lease, len(l.nodes)), time.Now()
	var granted, failed atomic.Int32
	errs := leases.Each(len(l.nodes), func(i int) error {
		lease, err := l.nodes[i].TryLock(ctx)
		parts[i] = (*leases.Lease)(lease)
		if err == nil && int(granted.Add(1)) == l.need || err != nil && int(failed.Add(1)) == len(l.nodes)-l.need+1 {
			time.AfterFunc(max(time.Since(began), leastStraggling), cancel)
		}
		return err
	})
	return parts, errs
}

// leastStraggling is the shortest time that askAll gives the other nodes.
const leastStraggling = 10 * time.Millisecond

// join makes one lease of the leases of a majority.
func (l *RedLock) join(parts []*leases.Lease) (*Lease, error) {
	config := leases.JointConfig{
		Name: l.describe(), Parts: parts, Need: l.need, Pause: l.pause, ReleaseTimeout: l.timeout,
	}
	if l.renewed {
		config.Regain = l.regain
	}
	whole, err := leases.NewJoint(config)
	return (*Lease)(whole), err
}

// regain asks one node again for the lock.
func (l *RedLock) regain(ctx context.Context, node int) (*leases.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	lease, err := l.nodes[node].TryLock(ctx)
	return (*leases.Lease)(lease), err
}

// withoutLock returns a node's error without the operation and the lock, which are the same as the
// red lock's.
func withoutLock(err error) error { return cmp.Or(errors.Unwrap(err), err) }

// noMajority returns the error of an attempt that too few nodes answered.
func (l *RedLock) noMajority(answered int, errs []error) error {
	text := fmt.Sprintf("%d of %d nodes answered, %d are needed", answered, len(errs), l.need)
	var failures []error
	for i, err := range errs {
		if err == nil || isRefusal(err) {
			continue
		}
		why := withoutLock(err).Error()
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			why, err = "no answer in time", backend.ErrIndeterminate
		}
		failures = append(failures, err)
		text += fmt.Sprintf("; node %d: %s", i+1, why)
	}
	return worded.New(text, failures...)
}
