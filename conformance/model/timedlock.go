package model

import (
	"fmt"
	"time"
)

// Kind is what is stored at a lock's key.
type Kind int

// What is stored at a lock's key.
const (
	Free  Kind = iota // nothing
	Held              // somebody's hold
	Other             // what is no lock
)

// String names the kind.
func (k Kind) String() string { return [...]string{"free", "held", "of another kind"}[k] }

// TimedLock is the key of a lock on a server, over time: who holds it and until when. Its methods
// are what scripts and operators do, with the answers that they got: they return an error if an
// answer is impossible. If a lease ends within the moment, either answer is accepted. The zero
// value is a lock that was never held. It is not safe for concurrent use.
type TimedLock struct {
	// Kind, Owner, Count and Ends are what the key holds, as far as is known. A zero Ends is none.
	Kind  Kind
	Owner string
	Count int64
	Ends  Moment

	// Token is the last one granted.
	Token int64

	// Freed is when the lock was last freed, and By how.
	Freed Moment
	By    Freeing
}

// Freeing is how a lock is freed, and what its waiters know of that.
type Freeing int

// How a lock is freed.
const (
	ByRelease  Freeing = iota // waiters get a message
	ByExpiry                  // waiters know when the lease ends
	ByDeletion                // there is no message
)

// Acquired is the answer to an acquire.
type Acquired struct {
	Kind  Kind          // Free: it was granted
	Token int64         // of a grant
	Wait  time.Duration // of a refusal: what the lease still has; negative: it has no end
}

// Acquire is an attempt to take the lock for a lease.
func (l *TimedLock) Acquire(at Moment, owner string, lease time.Duration, got Acquired) error {
	if err := l.Look(at, got.Kind); err != nil {
		return fmt.Errorf("acquire for %s: %w", owner, err)
	}
	switch got.Kind {
	case Held:
		return l.remaining(at, got.Wait)
	case Other:
		return nil
	}
	least := max(l.Token+1, at.From.UnixMicro())
	most := max(l.Token+1, at.To.UnixMicro())
	if got.Token < least || got.Token > most {
		return fmt.Errorf("token %d after %d, want %d to %d", got.Token, l.Token, least, most)
	}
	l.Token = got.Token
	l.Put(at, owner, 1, lease)
	return nil
}

// Renew gives the lock a whole lease again if owner holds it.
func (l *TimedLock) Renew(at Moment, owner string, lease time.Duration, renewed bool) error {
	if err := l.held(at, owner, renewed); err != nil {
		return fmt.Errorf("renewal: %w", err)
	}
	if renewed {
		l.Ends = at.Add(lease)
	}
	return nil
}

// Release frees the lock and publishes that, if owner holds it.
func (l *TimedLock) Release(at Moment, owner string, released bool) error {
	if err := l.held(at, owner, released); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	if released {
		l.free(at, ByRelease)
	}
	return nil
}

// ForceRelease frees the lock and publishes that, no matter who holds it.
func (l *TimedLock) ForceRelease(at Moment, released bool) error {
	saw := Free
	if released {
		saw = Held
	}
	if err := l.Look(at, saw); err != nil {
		return fmt.Errorf("release by force: %w", err)
	}
	if released {
		l.free(at, ByRelease)
	}
	return nil
}

// HoldCount is a look at how often owner holds the lock.
func (l *TimedLock) HoldCount(at Moment, owner string, count int64) error {
	if err := l.held(at, owner, count > 0); err != nil {
		return err
	}
	if count > 0 && count != l.Count {
		return fmt.Errorf("held %d times, want %d", count, l.Count)
	}
	return nil
}

// Remaining is a look at the rest of the lease, negative if it has no end: 0 if there is none, or
// less than a millisecond of it.
func (l *TimedLock) Remaining(at Moment, rest time.Duration) error {
	l.expire(at, false)
	if l.Kind == Free {
		if rest != 0 {
			return fmt.Errorf("%v remain of a free lock", rest)
		}
		return nil
	}
	return l.remaining(at, rest)
}

// Put makes the key somebody's hold, also if it was something else: a grant, or a peer that knows
// nothing of this package. A lease of 0 has no end.
func (l *TimedLock) Put(at Moment, owner string, count int64, lease time.Duration) {
	l.Kind, l.Owner, l.Count, l.Ends = Held, owner, count, Moment{}
	if lease > 0 {
		l.Ends = at.Add(lease)
	}
}

// PutOther makes the key something that is no lock.
func (l *TimedLock) PutOther() { *l = TimedLock{Kind: Other, Token: l.Token} }

// Delete removes the key, as an operator does, or a peer that also publishes it.
func (l *TimedLock) Delete(at Moment, by Freeing) { l.free(at, by) }

// Pass lets time pass: a lease that is surely over frees the lock.
func (l *TimedLock) Pass(at Moment) { l.expire(at, false) }

// Look is a look at the key.
func (l *TimedLock) Look(at Moment, saw Kind) error {
	l.expire(at, saw == Free)
	if l.Kind != saw {
		return fmt.Errorf("the key is %v, want %v", saw, l)
	}
	return nil
}

// String returns what is known of the key.
func (l *TimedLock) String() string {
	if l.Kind != Held {
		return l.Kind.String()
	}
	text := fmt.Sprintf("held by %s, %d times", l.Owner, l.Count)
	if !l.Ends.IsZero() {
		text += " until " + l.Ends.From.UTC().Format("05.000000")
	}
	return text
}

// expire frees the lock if its lease is over, or may be and is seen to be.
func (l *TimedLock) expire(at Moment, seen bool) {
	if l.Kind != Held || l.Ends.IsZero() || at.before(l.Ends) {
		return
	}
	if at.past(l.Ends) || seen {
		l.free(l.Ends, ByExpiry)
	}
}

func (l *TimedLock) free(at Moment, by Freeing) {
	*l = TimedLock{Token: l.Token, Freed: at, By: by}
}

// held checks the answer to whether owner holds the lock.
func (l *TimedLock) held(at Moment, owner string, told bool) error {
	l.expire(at, !told && owner == l.Owner)
	if is := l.Kind == Held && l.Owner == owner; is != told {
		return fmt.Errorf("held by %s: %v, but it is %v", owner, told, l)
	}
	return nil
}

// remaining checks the answer to what remains of the lease, which is rounded to milliseconds.
func (l *TimedLock) remaining(at Moment, told time.Duration) error {
	if l.Ends.IsZero() || told < 0 {
		if l.Ends.IsZero() != (told < 0) {
			return fmt.Errorf("%v remain of the lease, but it is %v", told, l)
		}
		return nil
	}
	least, most := l.Ends.From.Sub(at.To), l.Ends.To.Sub(at.From)
	if told <= least-time.Millisecond || told >= most+time.Millisecond {
		return fmt.Errorf("%v remain of the lease, want %v to %v", told, least, most)
	}
	return nil
}
