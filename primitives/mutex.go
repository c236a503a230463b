package primitives

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/line"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// heartbeatWorth is the longest time for which a heartbeat of a waiter of a [Mutex] counts, unless the
// client has a long ClockDrift. A release passes a silent waiter after two thirds of that time. A grant
// by a release lasts for that time, from the heartbeat on.
const heartbeatWorth = 10 * time.Second

// Mutex is a [Lock] whose release grants it to the next waiter, and sends a message to that waiter
// alone. Waiters of all clients acquire it in the order in which they came to the server. A
// hand-over costs the server as many commands for two hundred clients as for two, while a release
// of a Lock makes several clients try.
//
// Every 2.5 seconds, or four times in a shorter lease, a client sends the server heartbeats of
// its waiters. For the waiters after the first hundred the interval is a third longer. The client
// removes a waiter that leaves from the queue, in the background. The place of a crashed waiter ends
// 6.7 s after the waiter's last heartbeat. A release before that may grant the mutex to the
// crashed waiter: then nobody else acquires it until 10 s after that heartbeat. If the lease is shorter
// than 10 s, these times are two thirds of the lease, and the lease. A long [Options.ClockDrift] lengthens
// them: to two and three times itself. If a waiter was silent because
// it could reach no server, it returns to its place. If a holder crashes, the first waiter acquires
// the mutex within 50 ms of the end of the holder's lease. A waiter keeps its place through outages. If the
// server refuses a heartbeat for another reason, such as a missing permission, Lock returns that error. TryLock takes one
// more round trip for each thousand crashed waiters.
//
// # Grants by a release
//
// If a release granted the mutex, the lease begins at the waiter's last heartbeat. The watchdog
// renews such a lease within half a second, unless it is released before. A Lease of a fixed length
// is renewed once, before Lock returns, if less than nine tenths of it are left. Lock waits for the
// answer for half of what is left: without an answer the lease keeps the rest. If the server no
// longer has the grant, the caller waits on, at its old place.
//
// With Replicas, of a grant by a release too, Lock renews the lease once before it returns, and waits for the
// replicas as long as a renewal does. If too few replicas acknowledge the renewal, or no answer comes in time, the
// client releases the grant, to the next waiter if there is one, and the caller waits on, at its old place.
//
// # Others
//
// TryLock does not pass a waiter. A Mutex has other keys than a Lock: a Lock and a Mutex of the same name do not exclude
// each other.
//
// Source: docs/internals/mutex.md. Redisson has none, and no Java process can use it: see [Lock] and [FairLock].
type Mutex struct {
	textLock
	tokenTTL *time.Duration
	group    string // of this client's owners; its channel has its name
	worth    time.Duration

	token, queue, signs string // its keys other than the holder's
	granted             string // the prefix of the channels on which groups receive grants
	channel             string // that of this client's owners
}

// MutexOptions configure a [Mutex]. Each field is as in [LockOptions]. There is no Metadata: the release of another owner
// grants the mutex, and does not know it. [Options].IDPrefix names the process of the holder instead.
type MutexOptions struct {
	Lease, MaxHold time.Duration
	Replicas       int
	ReplicaTimeout time.Duration

	_ struct{}
}

// NewMutex returns the mutex called name, as [Client.NewLock] does.
func (c *Client) NewMutex(name string, opts *MutexOptions) *Mutex {
	o := *cmp.Or(opts, new(MutexOptions))
	m := &Mutex{textLock: textLock{leased{object: c.newObject("mutex", name, "string")}}, tokenTTL: &c.tokenTTL}
	key := extend.SideName(mutexKey, m.base.Key())
	m.token, m.queue, m.signs, m.granted = key+mutexTokenKey, key+mutexQueueKey, key+mutexSignsKey, key+mutexChannel
	m.base = m.base.WithKey(key).WithSideKey("token key", m.token).
		WithTypedKey("queue", m.queue, "zset").WithTypedKey("heartbeats", m.signs, "hash")
	m.leaseFor(c, o)
	return m
}

func (m *Mutex) leaseFor(c *Client, o MutexOptions) {
	whole := cmp.Or(o.Lease, c.core.WatchdogLease())
	// Of a grant by a release, the holder trusts what the clock drift leaves. It accepts each drift that a Lock does.
	m.worth = min(max(heartbeatWorth, 3*min(c.clockDrift, whole)), whole).Truncate(time.Millisecond)
	m.group = c.core.ID() + "." + strconv.FormatInt(m.worth.Milliseconds(), 10)
	m.channel = m.granted + ":" + m.group
	end := int64(0)
	m.newLeases(extend.LeaseConfig{
		Leasable: leasableMutex{Mutex: m, place: &end}, Try: leasableMutex{Mutex: m},
		Kind: c.leaseKind(mutexScripts), Lease: o.Lease, MaxHold: o.MaxHold, QueueTTL: m.worth,
		Replicas: o.Replicas, ReplicaTimeout: o.ReplicaTimeout,
		Wait: extend.WaitSpec{Refusal: ErrNotAcquired}, ExcludedBy: &m.base,
		Owner: func(int) string { return m.newOwner() },
	})
}

func (m *Mutex) newOwner() string {
	name := append(append(make([]byte, 0, 160), m.group...), ':')
	return string(strconv.AppendInt(name, rand.Int64(), 10)) //nolint:gosec // A name.
}

// ForceUnlock is [Lock.ForceUnlock] for this kind of lock. It grants the mutex to the first waiter. The holder learns of
// the loss at once only if its client has waiters with the same lease.
func (m *Mutex) ForceUnlock(ctx context.Context) (bool, error) {
	return extend.Call(ctx, &m.base, m.invalid, "force release of", func() (bool, error) {
		return script.MutexForceRelease(ctx, m.base.Runner(), script.MutexForceReleaseParams{
			Holder: m.base.Key(), Token: m.token, Queue: m.queue, Signs: m.signs,
			Tokenttl: m.tokenTTL, Publish: m.publish(), Granted: m.granted,
		})
	})
}

// Remaining is [Lock.Remaining] for this kind of lock.
func (m *Mutex) Remaining(ctx context.Context) (time.Duration, error) {
	return remaining(ask(ctx, &m.object, "query", script.ObjectRemaining))
}

// nobody is PTTL's answer if there is no key.
const nobody = -2 * time.Millisecond

// leasableMutex is a mutex, for its owners' leases.
type leasableMutex struct {
	*Mutex
	place *int64 // of an owner that queues if it is refused; 0: at the end; nil: it does not queue
	stamp int64
}

// Line has package extend wait in a line.
func (l leasableMutex) Line() (channel string, wait time.Duration) { return l.channel, l.worth }

// At returns the mutex for an owner that returns to its place.
func (l leasableMutex) At(place, stamp int64) extend.Leasable {
	return leasableMutex{l.Mutex, &place, stamp}
}

// Beat sends heartbeats of owners that wait.
func (l leasableMutex) Beat(
	ctx context.Context, r backend.ScriptRunner, stamp int64, owners []string,
) (line.Beats, error) {
	beat, err := script.MutexBeat(ctx, r, script.MutexBeatParams{
		Holder: l.base.Key(), Token: l.token, Queue: l.queue, Signs: l.signs,
		Keep: l.worth, Tokenttl: l.tokenTTL, Stamp: stamp, Publish: l.publish(), Granted: l.granted, Waiters: owners,
	})
	if err != nil {
		return line.Beats{}, fmt.Errorf("beat: %w", err)
	}
	beats := line.Beats{HeldFor: beat.Wait, Nobody: beat.Wait == nobody, Rank: beat.Rank, Token: beat.Grant}
	for _, status := range beat.Status {
		beats.Status = append(beats.Status, line.BeatStatus(status))
	}
	return beats, nil
}

func (l leasableMutex) Acquire(
	ctx context.Context, r backend.ScriptRunner, owner string, lease time.Duration,
) (int64, extend.Answer, error) {
	answer, err := script.MutexAcquire(ctx, r, script.MutexAcquireParams{
		Holder: l.base.Key(), Token: l.token, Queue: l.queue, Signs: l.signs,
		Owner: owner, Lease: lease, Tokenttl: l.tokenTTL, Number: l.place, Stamp: l.stamp,
		Publish: l.publish(), Granted: l.granted, Asks: l.base.AsksRights(),
	})
	if err != nil {
		return 0, extend.Answer{}, err
	}
	left, place, refused := strings.Cut(answer, " ")
	if !refused {
		token, err := backend.StringReply(answer).Int()
		return token, extend.Answer{Granted: true}, err
	}
	wait, err := backend.StringReply(left).Duration(time.Millisecond)
	queued := extend.Answer{Queued: l.place != nil, Again: wait == nobody}
	if queued.Again {
		wait = 0
	}
	number, noNumber := backend.StringReply(place).Int()
	queued.RetryIn, queued.Place = atLeastSome(wait), number
	return 0, queued, errors.Join(err, noNumber)
}

func (l leasableMutex) Release(ctx context.Context, r backend.ScriptRunner, owner string) (bool, error) {
	released, more, err := l.release(ctx, r, owner)
	if more {
		l.base.Go(func(ctx context.Context, r backend.ScriptRunner) {
			for more, err := true, error(nil); more && err == nil; {
				_, more, err = l.release(ctx, r, owner)
			}
		})
	}
	return released, err
}

// release runs the script once, which removes a bounded number of expired waiters. more says that
// the script must run again.
func (l leasableMutex) release(
	ctx context.Context, r backend.ScriptRunner, owner string,
) (released, more bool, err error) {
	outcome, err := script.MutexRelease(ctx, r, script.MutexReleaseParams{
		Holder: l.base.Key(), Token: l.token, Queue: l.queue, Signs: l.signs,
		Owner: owner, Tokenttl: l.tokenTTL, Publish: l.publish(), Granted: l.granted,
	})
	return outcome&1 != 0, outcome&2 != 0, err
}

// mutexScripts renew and release many mutexes of a client.
var mutexScripts = &leaseScripts{
	objects: "mutexes", channel: func(key string) string { return key + mutexChannel },
	renew: renewTexts,
	freed: func(key, _ string) []string {
		return []string{key, key + mutexTokenKey, key + mutexQueueKey, key + mutexSignsKey}
	},
	release: func(
		ctx context.Context, r backend.ScriptRunner, k leaseKind, keys, owners, channels []string,
	) ([]int64, error) {
		return script.MutexReleaseAll(ctx, r, keys, k.tokenTTL, k.publish, owners, channels)
	},
}
