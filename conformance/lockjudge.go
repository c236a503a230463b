package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/model"
	"github.com/hasp-go/hasp/primitives"
)

// judge compares what a call returned with what its last script was told.
func (m *lockMachine) judge(c *lockCall) error {
	defer c.cancel()
	m.mu.Lock()
	defer m.mu.Unlock()
	if (c.lease == nil) == (c.err == nil) {
		return fmt.Errorf("a lease %v and an error %v", c.lease, c.err)
	}
	if outer := c.outer; outer != nil {
		if done, err := m.judgeInner(c, outer); done {
			return err
		}
	}
	if c.err == nil {
		return m.judgeGrant(c)
	}
	if err := m.judgeRefusal(c); err != nil {
		return fmt.Errorf("after %+v the call returned %q: %w", c.last, c.err, err)
	}
	return nil
}

// judgeInner judges a call under the context of another lease; it reports false if it was one like
// any other.
func (m *lockMachine) judgeInner(c *lockCall, outer *lockLease) (done bool, err error) {
	of := outer.claim.call
	switch {
	case outer.ended != nil:
		return true, c.want(outer.ended)
	case c.sends == 0 && errors.Is(c.err, primitives.ErrLost) && m.mayHaveLapsed(outer.claim, c.began):
		return true, nil
	case c.party != of.party || c.key != of.key:
		return false, nil
	case c.sends == 0 && c.ended.After(c.limit) && errors.Is(c.err, context.DeadlineExceeded):
		return true, nil // A slow machine.
	case c.fixed != of.fixed:
		var field *primitives.FieldError
		if !errors.As(c.err, &field) {
			return true, fmt.Errorf("re-entering with another lease returned %v", c.err)
		}
		return true, c.nothingSent()
	case c.err != nil:
		return true, fmt.Errorf("re-entering what is held: %w", c.err)
	case c.lease.Owner() != outer.claim.owner || c.lease.Token() != outer.lease.Token():
		return true, errors.New("re-entering gave another hold")
	}
	m.reach("re-entry")
	m.add(c.lease, outer.claim)
	return true, c.nothingSent()
}

// want returns an error unless the call sent nothing and failed with target.
func (c *lockCall) want(target error) error {
	if !errors.Is(c.err, target) {
		return fmt.Errorf("the call returned %v, want %q", c.err, target)
	}
	return c.nothingSent()
}

func (c *lockCall) nothingSent() error {
	if c.sends > 0 {
		return fmt.Errorf("it sent %d scripts", c.sends)
	}
	return nil
}

// add notes a lease that was returned.
func (m *lockMachine) add(lease *primitives.Lease, claim *lockClaim) {
	l := &lockLease{
		lease: lease, claim: claim, done: lease.Done(), work: lease.Context(context.Background()),
	}
	if err := lease.Err(); m.parties[claim.call.party].closed && errors.Is(err, primitives.ErrClosed) {
		l.ended = err // Its client was closed before anybody looked.
	}
	m.leases = append(m.leases, l)
}

func (m *lockMachine) judgeGrant(c *lockCall) error {
	claim := m.claims[c.last.owner]
	if c.last.kind != granted || claim == nil {
		return fmt.Errorf("the call got a lease, after %+v", c.last)
	}
	if c.lease.Owner() != claim.owner || c.lease.Token() != c.last.token {
		return fmt.Errorf("the lease has owner %s, token %d, want %+v",
			c.lease.Owner(), c.lease.Token(), c.last)
	}
	m.reach("grant")
	m.add(c.lease, claim)
	return nil
}

// judgeRefusal judges an error.
func (m *lockMachine) judgeRefusal(c *lockCall) error {
	closed := m.parties[c.party].closed && errors.Is(c.err, primitives.ErrClosed)
	over := c.ctx.Err() != nil && errors.Is(c.err, c.ctx.Err())
	switch {
	case c.last.kind == granted && (closed || over || m.lateAfterAll(c)):
		m.reach("grant given back")
		m.claims[c.last.owner].over = c.ended
		return nil
	case closed:
		return nil
	}
	ok := false
	switch c.last.kind {
	case unasked:
		ok = over && !c.try
	case granted:
	case grantedLate:
		ok = errors.Is(c.err, primitives.ErrLost)
	case refused:
		ok = c.try && errors.Is(c.err, primitives.ErrNotAcquired) || !c.try && over
	case conflict:
		ok = errors.Is(c.err, primitives.ErrConflict)
	case failed:
		ok = errors.Is(c.err, c.last.err) && sameKind(c.err, c.last.err)
	}
	if !ok {
		return errors.New("that is no answer to it")
	}
	m.reach([]string{"impatience", "grant", "late grant", "refusal", "conflict", "failure"}[c.last.kind])
	return m.waitedInVain(c, c.ended)
}

// lateAfterAll reports whether a grant may have come too late for its client.
func (m *lockMachine) lateAfterAll(c *lockCall) bool {
	return errors.Is(c.err, primitives.ErrLost) && m.mayHaveLapsed(m.claims[c.last.owner], c.began)
}

// sameKind reports whether two errors tell the same about what was sent.
func sameKind(a, b error) bool {
	return errors.Is(a, backend.ErrIndeterminate) == errors.Is(b, backend.ErrIndeterminate)
}

// unlock unlocks a lease, perhaps once more.
func (m *lockMachine) unlock(ctx context.Context, l *lockLease, a act) error {
	if l == nil {
		return nil
	}
	c := &lockCall{party: l.claim.call.party, began: time.Now()}
	ctx = context.WithValue(ctx, callKey{}, c)
	switch a.Which {
	case 0:
		ctx = l.lease.Context(ctx)
	case 1:
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		cancel()
	case 2:
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.For)
		defer cancel()
	}
	cancelled := a.Which == 1
	c.err = l.lease.Unlock(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.judgeUnlock(l, c, cancelled); err != nil {
		return fmt.Errorf("after %+v Unlock returned %v: %w", c.last, c.err, err)
	}
	return nil
}

func (m *lockMachine) judgeUnlock(l *lockLease, c *lockCall, cancelled bool) error {
	if l.ended == nil && c.sends == 0 && errors.Is(c.err, primitives.ErrLost) &&
		m.mayHaveLapsed(l.claim, c.began) {
		l.ended = primitives.ErrLost
	}
	if l.ended != nil {
		m.reach("unlock after the end")
		if !errors.Is(c.err, primitives.ErrNotHeld) || !errors.Is(c.err, l.ended) {
			return fmt.Errorf("want %q and %q", primitives.ErrNotHeld, l.ended)
		}
		return c.nothingSent()
	}
	l.ended = primitives.ErrReleased
	if m.held(l.claim) {
		m.reach("inner unlock")
		return errors.Join(c.err, c.nothingSent())
	}
	if l.claim.over.IsZero() {
		l.claim.over = time.Now()
	}
	return judgeRelease(c, cancelled)
}

// held reports whether a claim has a lease that has not ended.
func (m *lockMachine) held(c *lockClaim) bool {
	for _, l := range m.leases {
		if l.claim == c && l.ended == nil {
			return true
		}
	}
	return false
}

// judgeRelease compares the error of an Unlock that released with what its script was told.
func judgeRelease(c *lockCall, cancelled bool) error {
	var want []error
	switch {
	case cancelled:
		want = []error{backend.ErrIndeterminate, context.Canceled}
	case c.last.kind == granted:
	case c.last.kind == refused:
		want = []error{primitives.ErrNotHeld, primitives.ErrLost}
	case c.last.kind == conflict:
		want = []error{primitives.ErrNotHeld, primitives.ErrConflict}
	case c.last.kind == failed:
		want = []error{backend.ErrIndeterminate, c.last.err}
	default:
		return errors.New("nothing was sent")
	}
	if want == nil && c.err != nil {
		return errors.New("but it was released")
	}
	for _, target := range want {
		if !errors.Is(c.err, target) {
			return fmt.Errorf("want %q", target)
		}
	}
	return nil
}

func (m *lockMachine) forceUnlock(ctx context.Context, a act) error {
	seen := &lockSeen{}
	lock := m.lock(a.Client, m.keys[a.Object], false)
	was, err := lock.ForceUnlock(context.WithValue(ctx, seenKey{}, seen))
	return m.judgeQuery(a, err, func() error {
		// The script's answer was compared when it ran.
		if n, err := seen.reply.Int(); err != nil || was != (n == 1) {
			return fmt.Errorf("ForceUnlock says %v after %d, %v", was, n, err)
		}
		return nil
	})
}

// query asks one thing about a lock.
func (m *lockMachine) query(ctx context.Context, a act) error {
	key := m.keys[a.Object]
	lock := m.lock(a.Client, key, a.Flag)
	m.mu.Lock()
	owner := key.model.Owner
	m.mu.Unlock()
	if owner == "" || a.Which == 5 {
		owner = "nobody"
	}
	seen := &lockSeen{}
	ctx = context.WithValue(ctx, seenKey{}, seen)
	switch a.Which {
	case 0:
		locked, err := lock.IsLocked(ctx)
		return m.judgeQuery(a, err, func() error {
			if seen.Kind == model.Other && locked {
				return nil
			}
			return seen.Look(seen.at, map[bool]model.Kind{true: model.Held}[locked])
		})
	case 1:
		held, err := lock.IsHeldBy(ctx, owner)
		return m.judgeQuery(a, err, func() error {
			return seen.HoldCount(seen.at, owner, map[bool]int64{true: seen.Count}[held])
		})
	case 2, 3:
		rest, err := lock.Remaining(ctx)
		if rest == primitives.NoExpiry {
			rest = -1
		}
		return m.judgeQuery(a, err, func() error { return seen.Remaining(seen.at, rest) })
	}
	count, err := lock.HoldCount(ctx, owner)
	return m.judgeQuery(a, err, func() error { return seen.HoldCount(seen.at, owner, count) })
}

// judgeQuery judges the error of a query, and its answer if there is none.
func (m *lockMachine) judgeQuery(a act, err error, answer func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.parties[a.Client]
	_, sound := m.soundSince(p)
	switch {
	case p.closed && !errors.Is(err, primitives.ErrClosed):
		return fmt.Errorf("asking a closed client: %v", err)
	case errors.Is(err, primitives.ErrConflict):
		return m.keys[a.Object].model.Look(m.serverNow(), model.Other)
	case err != nil && (!sound || p.closed || errors.Is(err, errTrouble)):
		return nil
	case err != nil:
		return fmt.Errorf("asking: %w", err)
	}
	return answer()
}
