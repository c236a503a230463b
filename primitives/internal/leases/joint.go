package leases

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/worded"
)

// JointConfig configures a lease that consists of several leases.
type JointConfig struct {
	// Name is the name of the whole in errors, such as `red lock "x"`.
	Name string

	// Parts are the leases. Nil stands for a part that is not held.
	Parts []*Lease

	// Need is how many parts must be held. If fewer are held, the joint lease is lost.
	Need int

	// Regain tries once to get the lease of a part that is not held. It is called after each Pause,
	// for as long as the joint lease is held, with a context that ends with that lease. Nil means
	// that lost parts are not regained.
	Regain func(ctx context.Context, part int) (*Lease, error)
	Pause  time.Duration

	// ReleaseTimeout is how long Release and Extend wait for each part. Unanswered releases continue
	// in the background. Zero means that only their context bounds the waiting.
	ReleaseTimeout time.Duration
}

// NewJoint returns one lease that consists of several leases, which belong to it from then on. The
// joint lease is held while enough of its parts are held. Its Remaining is the time until too few
// parts would be left. Its Release releases all parts, and so does its loss. A context of its
// Reenter re-enters each part.
//
// If too few parts are held at the call, NewJoint releases all parts and returns [ErrLost], or
// [backend.ErrClosed] if a client was closed.
func NewJoint(config JointConfig) (*Lease, error) {
	j := &joint{config: config, all: slices.Clone(config.Parts)}
	j.Init(j)
	if _, lost := j.Remaining(); lost != nil {
		return nil, fmt.Errorf("granted too late: %w", lost)
	}
	for part, l := range config.Parts {
		if l != nil {
			j.watch(part, l)
		} else {
			go j.regain(part)
		}
	}
	return j.First(), nil
}

// joint is the target of a lease of several parts.
type joint struct {
	Group
	config JointConfig

	all []*Lease // the parts; guarded by the group's mutex
}

// Remaining implements [Target]: the time until too few parts are held.
func (j *joint) Remaining() (time.Duration, error) {
	var rest []time.Duration
	for _, part := range j.Parts() {
		if part != nil {
			left, _ := part.Check()
			rest = append(rest, left)
		}
	}
	slices.SortFunc(rest, func(a, b time.Duration) int { return cmp.Compare(b, a) })
	if need := j.config.Need; len(rest) >= need && rest[need-1] > 0 {
		return rest[need-1], nil
	}
	return 0, j.lose()
}

// lose ends the joint lease after a loss, and releases the remaining parts in the background. It
// returns the reason of the end.
func (j *joint) lose() error {
	cause := j.lossCause()
	if j.EndAll(cause) {
		go func() { _ = j.releaseParts(context.Background(), ReleaseWait{}) }()
	}
	return cause
}

// lossCause returns the reason for the loss of parts: that of the first lost part, unless a client was closed.
func (j *joint) lossCause() (cause error) {
	for _, part := range j.Parts() {
		if part == nil {
			continue
		}
		_, err := part.Check()
		if errors.Is(err, backend.ErrClosed) {
			return err
		}
		if errors.Is(err, ErrLost) {
			cause = cmp.Or(cause, err)
		}
	}
	return cmp.Or(cause, ErrLost)
}

// watch waits for the end of a part. Then it checks the joint lease, and regains that part. If the joint lease has
// ended, it does not ask the other parts: there may be very many, which end together.
func (j *joint) watch(part int, l *Lease) {
	context.AfterFunc(l.Context(context.Background()), func() {
		if !j.set(part, l) {
			return
		}
		if _, lost := j.Remaining(); lost == nil {
			j.set(part, nil)
			j.regain(part)
		}
	})
}

// set replaces a part, and reports false if it is too late for that, since the joint lease has ended.
func (j *joint) set(part int, l *Lease) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.leases == nil {
		return false
	}
	j.all[part] = l
	return true
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
		err := Contained(func() error { return j.regainOnce(ctx, part) })
		if err == nil || errors.Is(err, backend.ErrClosed) {
			return
		}
	}
}

// regainOnce returns nil if the part is held, or no longer needed.
func (j *joint) regainOnce(ctx context.Context, part int) error {
	l, err := j.config.Regain(ctx, part)
	if err != nil {
		return err
	}
	// The other parts must have been enough up to now: otherwise another owner may have held a
	// majority meanwhile.
	if _, lost := j.Remaining(); lost != nil || !j.set(part, l) {
		return ReleaseAll(ctx, []*Lease{l}, j.config.ReleaseTimeout)
	}
	j.watch(part, l)
	return nil
}

func (j *joint) Release(ctx context.Context, l *Lease, wait ReleaseWait) error {
	if _, err := j.EndLease(l); err != nil {
		return err
	}
	return j.releaseParts(ctx, wait)
}

// releaseParts releases all parts, and returns nil if enough of them were held to the end.
func (j *joint) releaseParts(ctx context.Context, wait ReleaseWait) error {
	all := j.Parts()
	return j.enough(all, releaseAll(ctx, all, wait, j.config.ReleaseTimeout))
}

// enough returns nil if enough of all parts have no error, else the errors, joined. A nil part does
// not count.
func (j *joint) enough(all []*Lease, errs []error) error {
	held := 0
	for i, part := range all {
		if part != nil && errs[i] == nil {
			held++
		}
	}
	if held >= j.config.Need {
		return nil
	}
	return worded.Join(errs...)
}

func (j *joint) CheckExtension(d time.Duration) error {
	for _, part := range j.Parts() {
		if part != nil {
			if err := part.Target().CheckExtension(d); err != nil {
				return err
			}
		}
	}
	return nil
}

func (j *joint) Extend(ctx context.Context, l *Lease, d time.Duration) error {
	err := cmp.Or(j.CheckExtension(d), ctx.Err())
	if _, ended := l.Check(); err == nil && ended != nil {
		err = fmt.Errorf("%w: %w", ErrNotHeld, ended)
	}
	if err == nil {
		err = j.extendParts(ctx, d)
	}
	return j.Describe(ctx, "extend", err)
}

// extendParts extends all parts, and returns nil if enough of them were extended.
func (j *joint) extendParts(ctx context.Context, d time.Duration) error {
	if j.config.ReleaseTimeout > 0 {
		limited, cancel := context.WithTimeout(ctx, j.config.ReleaseTimeout)
		defer cancel()
		ctx = limited
	}
	all := j.Parts()
	return j.enough(all, Each(len(all), func(i int) error {
		if all[i] == nil {
			return nil
		}
		return all[i].Target().Extend(ctx, all[i], d)
	}))
}

func (j *joint) Forget() {
	if !j.EndAll(ErrReleased) {
		return
	}
	for _, part := range j.Parts() {
		if part != nil {
			part.Target().Forget()
		}
	}
}

func (*joint) Identity() (owner string, token int64) { return "", 0 }

func (j *joint) Parts() []*Lease {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.all)
}

// Is implements [Target]: each part is a hold of an object of its own.
func (*joint) Is(*ID) bool { return false }

func (j *joint) Covers(id *ID) bool {
	return slices.ContainsFunc(j.Parts(), func(part *Lease) bool {
		return part != nil && part.Target().Covers(id)
	})
}

func (j *joint) Describe(ctx context.Context, operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", operation, j.config.Name, worded.WithCause(ctx, err))
}

// ReleaseAll releases leases concurrently, and returns their errors, joined. A nil lease is
// skipped. ReleaseAll waits for each lease like a Release, and for no longer than the
// timeout, if that is not 0.
func ReleaseAll(ctx context.Context, leases []*Lease, timeout time.Duration) error {
	return worded.Join(releaseAll(ctx, leases, WaitAfter(ctx), timeout)...)
}

// releaseAll is ReleaseAll, but returns the error of each lease.
func releaseAll(ctx context.Context, leases []*Lease, wait ReleaseWait, timeout time.Duration) []error {
	ctx, cancel := releasing(ctx, wait.Grace, timeout)
	defer cancel()
	return Each(len(leases), func(i int) error {
		if leases[i] == nil {
			return nil
		}
		return leases[i].Release(ctx, ReleaseWait{bounded: wait.bounded})
	})
}

// releasing returns the context for the release of leases. It ends grace after ctx, or after the
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

// Each calls do for each number below n, concurrently, and returns the errors when all calls
// have returned. It returns a panic as an error, since these goroutines have no caller in which to
// raise it.
func Each(n int, do func(i int) error) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = Contained(func() error { return do(i) }) })
	}
	all.Wait()
	return errs
}

// Contained calls do, and returns a panic as an error.
func Contained(do func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic in the driver: %v", value)
		}
	}()
	return do()
}
