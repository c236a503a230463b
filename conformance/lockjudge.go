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

// judge compares what a call returned with the answer that its last script got.
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
	if ok := m.explains(c, over); !ok {
		return errors.New("that is no answer to it")
	}
	m.reach([]string{
		"impatience", "impatience", "impatience", "grant", "late grant", "refusal", "conflict", "failure",
	}[c.last.kind])
	return m.waitedInVain(c, c.ended)
}

// explains reports whether the error of a call fits the answer of its last script. over says that
// its context has ended, as the error says.
func (m *lockMachine) explains(c *lockCall, over bool) bool {
	unknown := errors.Is(c.err, backend.ErrIndeterminate)
	if over && unknown && (m.underWay(c) || !m.virtual) {
		return true // In real time a call may be sent that has not come to the link yet.
	}
	if unknown && c.sends > 0 && c.last.run.ctx.Err() != nil &&
		!m.parties[c.party].closing.IsZero() {
		return true // Its client gave it up at the end of Close.
	}
	if over && !unknown && c.last.kind == failed && !backend.MayHaveRun(c.last.err) && !m.virtual {
		return true // It was withdrawn before that came to the client.
	}
	if !unknown && c.last.at.After(c.ended) && c.last.kind != withdrawn && m.virtual {
		return false // It may run.
	}
	switch c.last.kind {
	case unasked:
		return over && !unknown
	case asking, withdrawn:
		c.last.run.withdrawn = true
		if errors.Is(c.err, backend.ErrUnavailable) {
			return m.batches && !unknown && (over || c.try || !c.barred)
		}
		return over && !unknown && m.batches &&
			c.barred == errors.Is(c.err, primitives.ErrNotAcquired)
	case grantedLate:
		return errors.Is(c.err, primitives.ErrLost)
	case refused:
		return errors.Is(c.err, primitives.ErrNotAcquired) && (c.try || over) && !unknown
	case conflict:
		return errors.Is(c.err, primitives.ErrConflict)
	case failed:
		return errors.Is(c.err, c.last.err) && sameKind(c.err, c.last.err) &&
			(over || c.try || !c.barred || !goesOn(c.last.err))
	}
	return false
}

// underWay reports whether a script of a call that has returned was still without an answer then.
func (m *lockMachine) underWay(c *lockCall) bool {
	return c.last.kind != unasked && !c.last.at.Add(m.guard).Before(c.ended) ||
		c.last.kind == asking
}

// goesOn reports whether a waiter that was refused before goes on after err.
func goesOn(err error) bool {
	return errors.Is(err, backend.ErrUnavailable) || errors.Is(err, backend.ErrIndeterminate)
}

// lateAfterAll reports whether a grant may have come too late for its client.
func (m *lockMachine) lateAfterAll(c *lockCall) bool {
	return errors.Is(c.err, primitives.ErrLost) && m.mayHaveLapsed(m.claims[c.last.owner], c.began)
}

// sameKind reports whether two errors say the same about what was sent.
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
	m.mu.Lock()
	l.claim.unlock = c
	m.mu.Unlock()
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
	c.ctx = ctx
	c.err = l.lease.Unlock(ctx)
	c.ended = time.Now()
	m.settle() // What was begun is sent.
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.judgeUnlock(l, c); err != nil {
		return fmt.Errorf("after %+v Unlock returned %v: %w", c.last, c.err, err)
	}
	return nil
}

func (m *lockMachine) judgeUnlock(l *lockLease, c *lockCall) error {
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
	return m.judgeRelease(c)
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

// judgeRelease compares the error of an Unlock that released with the answer that its script got.
func (m *lockMachine) judgeRelease(c *lockCall) error {
	var want []error
	over := c.ctx.Err() != nil && errors.Is(c.err, c.ctx.Err())
	switch {
	case over && errors.Is(c.err, backend.ErrIndeterminate) &&
		(m.underWay(c) || c.sends == 0 || !m.virtual): // If it is queued, it is sent later.
		m.reach("unlock left behind")
		return nil
	case c.last.kind == asking && m.batches && errors.Is(c.err, backend.ErrIndeterminate):
		c.last.run.withdrawn = true // It was not sent for too long, and is sent again.
		return nil
	case c.last.kind == granted:
	case c.last.kind == refused:
		want = []error{primitives.ErrNotHeld, primitives.ErrLost}
	case c.last.kind == conflict:
		want = []error{primitives.ErrNotHeld, primitives.ErrConflict}
	case c.last.kind == failed && backend.MayHaveRun(c.last.err):
		want = []error{backend.ErrIndeterminate, c.last.err}
	case c.last.kind == failed: // It is sent again.
		want = []error{backend.ErrIndeterminate}
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
	lock := m.lock(a.Client, m.keys[a.Object], false, seen)
	was, err := lock.ForceUnlock(context.WithValue(ctx, callKey{}, seen))
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
	seen := &lockSeen{}
	lock := m.lock(a.Client, key, a.Flag, seen)
	m.mu.Lock()
	owner := key.model.Owner
	m.mu.Unlock()
	if owner == "" || a.Which == 5 {
		owner = "nobody"
	}
	ctx = context.WithValue(ctx, callKey{}, seen)
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
	case err != nil && (!sound || p.closed || errors.Is(err, errTrouble) ||
		m.batches && errors.Is(err, backend.ErrUnavailable)):
		return nil
	case err != nil:
		return fmt.Errorf("asking: %w", err)
	}
	return answer()
}
