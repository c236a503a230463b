package primitives

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/leases"
	"github.com/hasp-go/hasp/primitives/internal/worded"
	"github.com/hasp-go/hasp/primitives/lease"
)

// Locker is a lock that can be part of a [MultiLock]. Each lock of this package is a Locker,
// MultiLock and [RedLock] included. A lock made with package extend is a Locker if it keeps the
// promises of [Lock.Lock].
type Locker interface {
	Lock(ctx context.Context) (*Lease, error)
	TryLock(ctx context.Context) (*Lease, error)
}

// MultiLock is several locks that are acquired as one: all of them, or none. They may be of
// different kinds, and of different clients, for example of different servers.
//
// # No deadlock
//
// A MultiLock never waits for one of its locks while it holds another. It tries all locks at the
// same time. If a lock is refused, it releases the others, waits only for the refused lock, and
// then tries the others again. So callers may name the same locks in any order. They may also
// acquire these locks one by one, in an order of their own, as long as they hold none of them while
// they wait for a MultiLock. The price is that a MultiLock may wait for a long time while other
// owners hold its locks in turn: it is not fair, even if its locks are.
//
// # A server that is down
//
// If a server gives no answer, the MultiLock releases the locks of the other servers after 2 s at
// most. Then Lock waits only for the silent server's lock, as if another owner held it. It does the
// same while a server cannot be reached. Meanwhile the other locks are free.
//
// # The lease
//
// The lease is held as long as all of its parts are held. If one part is lost, the lease is lost,
// and the client releases the other parts. [Lease.Parts] returns the leases of the locks, which
// have the tokens. The lease as a whole has no token, since each resource compares the token of its
// own lock. Under a [Lease.Reenter] context, Lock and TryLock re-enter all parts. Lock and TryLock
// of a single lock re-enter its part.
//
// A MultiLock is safe for concurrent use. It has no name and no key of its own.
//
// Source: Redisson's RedissonMultiLock. The two exclude each other, since both hold the locks
// themselves.
type MultiLock struct {
	locks []Locker
	checked
}

// NewMultiLock returns the locks as one. It sends nothing. The methods return a [*FieldError] if
// there is no lock, if a lock is nil, or if two locks of one client have the same key, since these
// would exclude each other. NewMultiLock does not notice the same key in two clients of one server:
// then TryLock always returns [ErrNotAcquired], and Lock waits forever.
func NewMultiLock(locks ...Locker) *MultiLock {
	m := &MultiLock{locks: slices.Clone(locks)}
	m.invalid = m.check()
	return m
}

// keyed is a lock that reports its keys.
type keyed interface{ lockKeys() []lockKey }

// lockKey is a lock's client and key.
type lockKey struct {
	core *extend.Core
	key  string
}

// self implements [redNode].
func (o *object) self() *object { return o }

// lockKeys implements [keyed].
func (o *object) lockKeys() []lockKey { return []lockKey{{o.base.Core(), o.base.Key()}} }

// lockKeys implements [keyed].
func (m *MultiLock) lockKeys() (keys []lockKey) {
	for _, l := range m.locks {
		if k, ok := l.(keyed); ok && !isNil(l) {
			keys = append(keys, k.lockKeys()...)
		}
	}
	return keys
}

// firstKey returns the first key of l, or "" if l does not report it.
func firstKey(l Locker) string {
	var keys []lockKey
	if k, ok := l.(keyed); ok {
		keys = k.lockKeys()
	}
	return append(keys, lockKey{})[0].key
}

// isNil reports whether l is nil, or a nil pointer to a lock.
func isNil(l Locker) bool {
	v := reflect.ValueOf(l)
	return l == nil || v.Kind() == reflect.Pointer && v.IsNil()
}

func (m *MultiLock) check() error {
	if len(m.locks) == 0 {
		return &FieldError{Field: "locks", Problem: "none"}
	}
	if i := slices.IndexFunc(m.locks, isNil); i >= 0 {
		return &FieldError{Field: "locks", Problem: fmt.Sprintf("number %d is nil", i+1)}
	}
	seen := map[lockKey]bool{}
	for _, k := range m.lockKeys() {
		if seen[k] {
			return &FieldError{Field: "locks", Problem: fmt.Sprintf("two have the key %q", k.key)}
		}
		seen[k] = true
	}
	return nil
}

// Validate returns the error of the locks together, or of one of them, with which every method fails, or nil. It sends
// nothing.
func (m *MultiLock) Validate() error {
	err := m.invalid
	for _, l := range m.locks {
		if v, ok := l.(interface{ Validate() error }); ok && err == nil {
			err = v.Validate()
		}
	}
	return err
}

// multiPauses stop callers from refusing each other's locks again and again.
var multiPauses = extend.Backoff{First: time.Millisecond, Most: 64 * time.Millisecond}

// Lock waits until it holds all locks, ctx ends, a client is closed or a backend fails. If all
// locks are free, it takes one round trip, since one client's requests are sent together. When ctx
// ends, Lock waits no longer.
//
// If the first attempt cannot reach a server, Lock returns [ErrUnavailable], and if a reply was
// lost [ErrIndeterminate], within 2 s plus the bound of that server's backend. Silence alone is no
// error: Lock waits for an answer until the backend gives up. If a lock has once been refused,
// the caller is a waiter, as in [Lock.Lock]: it waits until ctx ends, through outages of any of the
// servers.
//
// After an error the caller holds no lock: the client releases possible grants in the background.
// The errors are the same as for [Lock.Lock], for a lock that failed. Locks that wait for
// replicas use three quarters of the 2 s.
func (m *MultiLock) Lock(ctx context.Context) (*Lease, error) {
	return m.acquire(func(a *multiAttempt) error {
		return new(extend.Object).Wait(ctx, extend.WaitSpec{Backoff: multiPauses, Refusal: ErrNotAcquired}, a)
	})
}

// TryLock acquires all locks if all are free, and returns [ErrNotAcquired] if another owner holds
// one of them. It does not wait for a release. If a server gives no answer within 2 s, the error
// wraps [ErrIndeterminate], or [ErrUnavailable] if nothing was sent. Other errors are the same as
// for Lock's first attempt.
func (m *MultiLock) TryLock(ctx context.Context) (*Lease, error) {
	return m.acquire(func(a *multiAttempt) error { return a.ask(ctx) })
}

// Do is [Lock.Do] for all of the locks. The lease's Parts have the tokens.
func (m *MultiLock) Do(ctx context.Context, work func(ctx context.Context, lease *Lease) error) error {
	return lease.Do(ctx, m.Lock, work)
}

// acquire returns the lease of an attempt that was granted.
func (m *MultiLock) acquire(run func(a *multiAttempt) error) (*Lease, error) {
	var whole *leases.Lease
	a, err := &multiAttempt{locks: m.locks, first: -1}, m.invalid
	if err == nil {
		err = run(a)
	}
	if err == nil {
		whole, err = leases.NewJoint(leases.JointConfig{Name: "multi lock", Parts: a.leases, Need: len(a.leases)})
	}
	if err != nil {
		return nil, fmt.Errorf("acquire multi lock: %w", err)
	}
	return (*Lease)(whole), nil
}

// partReleaseTimeout is how long a refused attempt waits for the release of its other locks.
const partReleaseTimeout = time.Second

// multiAttempt is one caller's attempt to get all locks.
type multiAttempt struct {
	locks  []Locker
	leases []*leases.Lease
	first  int // the lock that the last attempt did not get, and the only one to wait for; -1: none
}

// Try implements [extend.Attempt]. If a lock gave no answer in time, Try waits for it at once,
// since silence is no refusal: until its server answers, or its backend gives up.
func (a *multiAttempt) Try(ctx context.Context) (extend.Answer, error) {
	for {
		err := a.ask(ctx)
		switch {
		case err == nil:
			return extend.Answer{Granted: true}, nil
		case isRefusal(err) && ctx.Err() == nil:
			return extend.Answer{}, nil
		case !isSilence(err):
			return extend.Answer{}, err
		}
	}
}

// ask waits for the lock that is first, if there is one, and then tries the others. After an error
// no lock is held.
func (a *multiAttempt) ask(ctx context.Context) error {
	a.leases = make([]*leases.Lease, len(a.locks))
	if a.first >= 0 {
		lease, err := a.locks[a.first].Lock(ctx)
		if err != nil {
			return err
		}
		a.leases[a.first] = (*leases.Lease)(lease)
	}
	err := a.takeOthers(ctx)
	if err != nil {
		_ = leases.ReleaseAll(ctx, a.leases, partReleaseTimeout) // Unanswered releases continue in the background.
	}
	return err
}

// partTimeout is how long a lock may take to answer while others may be held.
const partTimeout = 2 * time.Second

// takeOthers tries to get the locks that are not held, concurrently. If it fails to get a lock, it sets first to that
// lock. Of several that is the one with the least key, so callers that name the same locks in different orders wait for
// the same lock. Otherwise one would get one lock, and one the other, again and again.
func (a *multiAttempt) takeOthers(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, partTimeout)
	defer cancel()
	errs := leases.Each(len(a.locks), func(i int) (err error) {
		if a.leases[i] == nil {
			var lease *Lease
			lease, err = a.locks[i].TryLock(limited)
			a.leases[i] = (*leases.Lease)(lease)
		}
		if err != nil && ctx.Err() == nil && errors.Is(err, limited.Err()) {
			err = silenceOf(i, err)
		}
		return err
	})
	for _, is := range []func(error) bool{isFailure, isSilence, isRefusal} {
		if a.first = a.least(errs, is); a.first >= 0 {
			return errs[a.first]
		}
	}
	return nil
}

// least returns the lock with the least key among those whose error is of that kind; -1: there is none.
func (a *multiAttempt) least(errs []error, is func(error) bool) int {
	least := -1
	for i, err := range errs {
		if is(err) && (least < 0 || firstKey(a.locks[i]) < firstKey(a.locks[least])) {
			least = i
		}
	}
	return least
}

// errSilence is wrapped by the error of a lock that gave no answer in time, although the caller's context has not ended.
var errSilence = errors.New("no answer in time")

// silenceOf returns that error for lock i, whose own error has the end of another context.
func silenceOf(i int, err error) error {
	outcome := backend.ErrUnavailable
	if errors.Is(err, backend.ErrIndeterminate) {
		outcome = backend.ErrIndeterminate
	}
	return worded.New(fmt.Sprintf("%v: lock %d gave no answer within %s", outcome, i+1, partTimeout), outcome, errSilence)
}

func isSilence(err error) bool { return errors.Is(err, errSilence) }

func isRefusal(err error) bool { return errors.Is(err, ErrNotAcquired) }

func isFailure(err error) bool { return err != nil && !isSilence(err) && !isRefusal(err) }
