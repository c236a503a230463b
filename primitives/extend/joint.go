package extend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// JointConfig says which leases are held as one.
type JointConfig struct {
	// Name is that of the whole, in errors, such as `red lock "x"`.
	Name string

	// Parts are the leases. Nil stands for one that is not held.
	Parts []*Lease

	// Need is how many parts must be held. When one more than that allows is lost, the joint lease is.
	Need int

	// Regain tries once to get the lease of a part that is not held. It is called after each Pause, for
	// as long as the joint lease is held, and gets a context that ends with it. Nil: what is lost is not
	// regained.
	Regain func(ctx context.Context, part int) (*Lease, error)
	Pause  time.Duration

	// ReleaseTimeout bounds how long Release waits for each part. What is not answered goes on in the
	// background. Zero means the bound of Release's context.
	ReleaseTimeout time.Duration
}

// NewJoint returns one lease of several, which it owns from then on. The joint lease is held while enough
// of its parts are. It lasts, unrenewed, until so many have ended that too few are left. Its Release
// releases all parts, and so does its loss. A context made by its Reenter re-enters each part.
//
// If too few parts are held when it is called, NewJoint releases all and returns [ErrLost], or
// [backend.ErrClosed] if a client was closed.
func NewJoint(config JointConfig) (*Lease, error) {
	j := &joint{config: config, all: slices.Clone(config.Parts)}
	lease := j.init(j)
	if _, lost := j.remaining(); lost != nil {
		return nil, fmt.Errorf("granted too late: %w", lost)
	}
	for part, l := range config.Parts {
		if l != nil {
			j.watch(part, l)
		} else {
			go j.regain(part)
		}
	}
	return lease, nil
}

// joint is what a lease of several parts holds.
type joint struct {
	leaseGroup
	config JointConfig

	// Guarded by group.mu.
	all   []*Lease // the parts
	ended error    // why it ended; nil: it has not
}

// remaining implements [target]: the time until too few parts are held.
func (j *joint) remaining() (time.Duration, error) {
	var rest []time.Duration
	for _, part := range j.parts() {
		if part != nil {
			rest = append(rest, part.Remaining())
		}
	}
	slices.SortFunc(rest, func(a, b time.Duration) int { return cmp.Compare(b, a) })
	if need := j.config.Need; len(rest) >= need && rest[need-1] > 0 {
		return rest[need-1], nil
	}
	return 0, j.lose()
}

// lose ends the joint lease after a loss, and releases what is left of it in the background. It returns
// why it has ended.
func (j *joint) lose() error {
	cause, first := j.end(j.lossCause())
	if first {
		j.endAll(cause)
		go func() { _ = j.releaseParts(context.Background(), 0) }()
	}
	return cause
}

// lossCause returns why parts were lost.
func (j *joint) lossCause() error {
	for _, part := range j.parts() {
		if part != nil && errors.Is(part.Err(), backend.ErrClosed) {
			return backend.ErrClosed
		}
	}
	return ErrLost
}

// end notes that the lease has ended, and why, unless it had. It returns the cause of the first end.
func (j *joint) end(cause error) (known error, first bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if first = j.ended == nil; first {
		j.ended = cause
	}
	return j.ended, first
}

// watch looks at the joint lease again when a part ends, and then regains that part.
func (j *joint) watch(part int, l *Lease) {
	context.AfterFunc(l.Context(context.Background()), func() {
		if _, lost := j.remaining(); lost == nil {
			j.set(part, nil)
			j.regain(part)
		}
	})
}

// set replaces a part, and reports false if it is too late for that.
func (j *joint) set(part int, l *Lease) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ended == nil {
		j.all[part] = l
	}
	return j.ended == nil
}

// regain tries to get a part that is not held, until the joint lease ends.
func (j *joint) regain(part int) {
	if j.config.Regain == nil {
		return
	}
	ctx := j.first.Context(context.Background())
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(j.config.Pause):
		}
		err := contained(func() error { return j.regainOnce(ctx, part) })
		if err == nil || errors.Is(err, backend.ErrClosed) {
			return
		}
	}
}

// regainOnce returns nil if the part is held, or need not be any more.
func (j *joint) regainOnce(ctx context.Context, part int) error {
	l, err := j.config.Regain(ctx, part)
	if err != nil {
		return err
	}
	// The others must have been enough up to now: another may have held them meanwhile, if they were not.
	if _, lost := j.remaining(); lost != nil || !j.set(part, l) {
		return ReleaseAll(ctx, []*Lease{l}, j.config.ReleaseTimeout)
	}
	j.watch(part, l)
	return nil
}

// releaseLease implements [target].
func (j *joint) releaseLease(ctx context.Context, l *leaseState, grace time.Duration) error {
	if _, err := j.endLease(l); err != nil {
		return err
	}
	j.end(ErrReleased)
	return j.releaseParts(ctx, grace)
}

// releaseParts releases all parts, and returns nil if enough of them were held to the end.
func (j *joint) releaseParts(ctx context.Context, grace time.Duration) error {
	parts, held := j.parts(), 0
	errs := releaseAll(ctx, parts, grace, j.config.ReleaseTimeout)
	for i, part := range parts {
		if part != nil && errs[i] == nil {
			held++
		}
	}
	if held >= j.config.Need {
		return nil
	}
	return errors.Join(errs...)
}

// forget implements [target].
func (j *joint) forget() {
	j.end(ErrReleased)
	j.endAll(ErrReleased)
	for _, part := range j.parts() {
		if part != nil {
			part.Forget()
		}
	}
}

// identity implements [target].
func (*joint) identity() (owner string, token int64) { return "", 0 }

// parts implements [target].
func (j *joint) parts() []*Lease {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.all)
}

// reentry implements [target].
func (j *joint) reentry(outer *reentry) *reentry {
	for _, part := range j.parts() {
		if part != nil {
			outer = part.state.group.target.reentry(outer)
		}
	}
	return outer
}

// describe implements [target].
func (j *joint) describe(ctx context.Context, operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", operation, j.config.Name, withCause(ctx, err))
}

// ReleaseAll releases leases side by side, of which some may be nil, and returns their errors, joined. It
// waits for each as [Lease.Release] does, and for no longer than the timeout, if that is not 0.
func ReleaseAll(ctx context.Context, leases []*Lease, timeout time.Duration) error {
	grace := releaseGrace
	if ctx.Err() != nil {
		grace = 0
	}
	return errors.Join(releaseAll(ctx, leases, grace, timeout)...)
}

// releaseAll returns the error of each.
func releaseAll(ctx context.Context, leases []*Lease, grace, timeout time.Duration) []error {
	ctx, cancel := releasing(ctx, grace, timeout)
	defer cancel()
	return Together(len(leases), func(i int) error {
		if leases[i] == nil {
			return nil
		}
		return leases[i].release(ctx, 0)
	})
}

// releasing returns the context under which leases are released: it ends a grace after ctx, and after the
// timeout, if that is not 0.
func releasing(ctx context.Context, grace, timeout time.Duration) (context.Context, context.CancelFunc) {
	limited, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	if timeout == 0 {
		return limited, func() { stop(); cancel() }
	}
	limited, expire := context.WithTimeout(limited, timeout)
	return limited, func() { stop(); expire(); cancel() }
}

// Together calls do for each number below n, side by side, and returns the errors when all have returned.
// A panic is an error, since these goroutines have no caller to raise it in.
func Together(n int, do func(i int) error) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = contained(func() error { return do(i) }) })
	}
	all.Wait()
	return errs
}

// contained calls do, and returns a panic as an error.
func contained(do func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic in the driver: %v", value)
		}
	}()
	return do()
}
