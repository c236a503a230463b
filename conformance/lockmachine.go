package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/model"
	"github.com/hasp-go/hasp/primitives"
)

// lockActs are the actions of a lockMachine, more often those that are more usual.
var lockActs = []string{
	"TryLock", "TryLock", "TryLock", "Lock", "Lock", "Wait", "Wait", "Wait", "GiveUp",
	"Unlock", "Unlock", "Unlock", "Unlock", "HandOver", "HandOver", "HandOver", "Reenter", "Reenter",
	"ForceUnlock", "Query",
	"Delete", "Peer", "PeerUnlock", "OtherKind", "Clock",
}

// lockMachine drives locks.
type lockMachine struct {
	*world
	keys   []*lockKey
	claims map[string]*lockClaim // by owner
	leases []*lockLease          // all that were returned
	waits  []*lockCall           // what waits in the background
}

// lockSeen is what there was to see when a query ran, and its answer.
type lockSeen struct {
	model.TimedLock
	at    model.Moment
	reply backend.Reply
}

// lockKey is one lock on the server.
type lockKey struct {
	name, token, channel string
	model                model.TimedLock
	changed              bool // since a message was sent: waiters know of another end of the lease
}

// lockClaim is what one owner has asked for.
type lockClaim struct {
	owner     string
	call      *lockCall
	belief    *model.Belief
	granted   bool          // the client knows
	ran       time.Time     // when the server granted it
	over      time.Time     // since when nobody believes in it; zero: somebody may
	run       *scriptRun    // the last that asked
	unlock    *lockCall     // the Unlock that releases it
	forgotten bool          // the server may have lost it
	gain      time.Duration // of the server's clock since the server was last asked
}

// lockCall is one call of Lock or TryLock.
type lockCall struct {
	party      int
	key        *lockKey
	fixed, try bool
	outer      *lockLease // under whose Reenter it is made
	snaps      bool       // its caller leaves in the instant of the grant
	began      time.Time
	heard      time.Time       // when it began, or when it was last refused
	limit      time.Time       // of its context; zero: there is none
	ctx        context.Context //nolint:containedctx // It is what the call is about.
	cancel     context.CancelFunc

	sends  int  // how many scripts it has sent
	barred bool // it was refused before: it waits on through outages
	last   lockAnswer

	done  chan struct{}
	ended time.Time
	lease *primitives.Lease
	err   error
}

// lockAnswer is the answer to the last script of a call.
type lockAnswer struct {
	kind  answerKind
	at    time.Time // zero: there is none yet
	run   *scriptRun
	owner string
	token int64
	err   error
}

type answerKind int

const (
	unasked answerKind = iota
	asking             // there is no answer yet
	withdrawn
	granted
	grantedLate
	refused
	conflict
	failed
)

// lockLease is a lease that was returned.
type lockLease struct {
	lease *primitives.Lease
	claim *lockClaim
	done  <-chan struct{}
	work  context.Context //nolint:containedctx // It is looked at.
	ended error           // why it has ended; nil: it is held
}

func newLockMachine(
	ctx context.Context, e *env, s setting, virtual bool, reach func(string),
) (machine, error) {
	w, err := newWorld(ctx, e, s, virtual)
	if err != nil {
		return nil, err
	}
	m := &lockMachine{world: w, claims: map[string]*lockClaim{}}
	for _, name := range []string{"a", "b"}[:propertyObjects] {
		key := e.apart(name)
		m.keys = append(m.keys, &lockKey{
			name: key, token: "redisson_lock_token:" + key, channel: "redisson_lock__channel:" + key,
		})
	}
	w.watch, w.reach = m, reach
	return m, m.raiseToken(ctx, m.keys[len(m.keys)-1])
}

// raiseToken sets the last token of a lock to one that a double cannot hold.
func (m *lockMachine) raiseToken(ctx context.Context, key *lockKey) error {
	key.model.Token = 1<<53 + 1
	_, err := m.Do(ctx, key.token, "SET", key.token, strconv.FormatInt(key.model.Token, 10))
	return err
}

// act implements machine.
func (m *lockMachine) act(ctx context.Context, a act) error {
	switch a.Op {
	case "TryLock", "Lock", "Wait":
		return m.acquire(ctx, a)
	case "GiveUp":
		m.giveUp(a)
	case "Unlock":
		return m.unlock(ctx, m.pick(a), a)
	case "HandOver":
		return m.handOver(ctx, a)
	case "Reenter":
		return m.reenter(ctx, a)
	case "ForceUnlock":
		return m.forceUnlock(ctx, a)
	case "Query":
		return m.query(ctx, a)
	case "Delete", "Peer", "PeerUnlock", "OtherKind":
		return m.meddle(ctx, m.keys[a.Object], a)
	case "Clock":
		m.step(a.For)
	default:
		return m.world.act(ctx, a)
	}
	return nil
}

// acquire begins a call, and ends it unless it waits in the background.
func (m *lockMachine) acquire(ctx context.Context, a act) error {
	c := &lockCall{party: a.Client, key: m.keys[a.Object], fixed: a.Flag, try: a.Op == "TryLock"}
	c.snaps = a.Op != "Wait" && a.Which == 4
	if a.Op == "Lock" || a.Op == "Wait" && a.Which < 3 {
		c.limit = time.Now().Add(a.For)
	}
	m.begin(ctx, c)
	if a.Op == "Wait" {
		m.waits = append(m.waits, c)
		go m.run(c)
		m.settle()
		return nil
	}
	m.run(c)
	return m.judge(c)
}

// handOver frees a lock that somebody has just begun to wait for, perhaps one who is not subscribed
// yet, or does not get the message.
func (m *lockMachine) handOver(ctx context.Context, a act) error {
	i := slices.IndexFunc(m.leases, func(l *lockLease) bool { return l.ended == nil })
	if i < 0 {
		return nil
	}
	l := m.leases[i]
	m.lateOrDeaf(a)
	wait := a
	wait.Op, wait.Object, wait.Which = "Wait", slices.Index(m.keys, l.claim.call.key), 5
	if err := m.acquire(ctx, wait); err != nil {
		return err
	}
	if !m.virtual && a.Flag {
		time.Sleep(50 * time.Millisecond) // Mostly it is subscribed then.
	}
	if err := m.unlock(ctx, l, act{Which: 5}); err != nil {
		return err
	}
	m.pass(a.For + 10*time.Millisecond)
	return nil
}

// reenter acquires under the context of a lease, mostly what the lease is of.
func (m *lockMachine) reenter(ctx context.Context, a act) error {
	outer := m.pick(a)
	if outer == nil {
		return nil
	}
	of := outer.claim.call
	c := &lockCall{party: of.party, key: of.key, fixed: of.fixed, try: a.Flag, outer: outer}
	switch a.Which {
	case 0:
		c.party = a.Client
	case 1:
		c.key = m.keys[a.Object]
	case 2:
		c.fixed = !c.fixed
	}
	c.limit = time.Now().Add(a.For)
	m.begin(outer.lease.Reenter(ctx), c)
	m.run(c)
	return m.judge(c)
}

// begin makes the context of a call.
func (m *lockMachine) begin(ctx context.Context, c *lockCall) {
	c.began, c.done = time.Now(), make(chan struct{})
	c.heard = c.began
	ctx = context.WithValue(ctx, callKey{}, c)
	if c.limit.IsZero() {
		c.ctx, c.cancel = context.WithCancel(ctx)
		return
	}
	c.ctx, c.cancel = context.WithDeadline(ctx, c.limit)
}

// run makes the call.
func (m *lockMachine) run(c *lockCall) {
	defer close(c.done)
	lock := m.lock(c.party, c.key, c.fixed, c)
	if c.try {
		c.lease, c.err = lock.TryLock(c.ctx)
	} else {
		c.lease, c.err = lock.Lock(c.ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c.ended = time.Now()
}

// lock returns the lock for a call or a query.
func (m *lockMachine) lock(party int, key *lockKey, fixed bool, of any) *primitives.Lock {
	o := &primitives.LockOptions{}
	if fixed {
		o.Lease = m.fixed
	}
	return m.parties[party].client.NewLock(m.nameFor(of, key.name), o)
}

// leaseOf is the length of a call's lease, and how much of it its holder does not trust.
func (m *lockMachine) leaseOf(c *lockCall) (lease, allowance time.Duration) {
	lease = m.lease
	if c.fixed {
		lease = m.fixed
	}
	return lease, max(lease/10, 2*time.Millisecond)
}

// giveUp cancels one that waits.
func (m *lockMachine) giveUp(a act) {
	if len(m.waits) == 0 {
		return
	}
	m.waits[a.Which%len(m.waits)].cancel()
	m.settle()
}

// pick returns one of the leases, mostly one of the last; nil: there is none.
func (m *lockMachine) pick(a act) *lockLease {
	if len(m.leases) == 0 {
		return nil
	}
	return m.leases[max(0, len(m.leases)-1-a.Which/2)]
}

// closed implements watcher: nobody believes in what a closed client held.
func (m *lockMachine) closed(party int, began time.Time, sound bool) error {
	m.disbelieve(party, began)
	return m.leftHeld(party, sound)
}

// heldUp is how late a request may be granted to nobody: a closed client looks for it for so long.
const heldUp = time.Second

// leftHeld returns an error if a client has left something held that it closed over a sound link. A
// request that was held up on its way may be granted when nobody looks for it any more.
func (m *lockMachine) leftHeld(party int, sound bool) error {
	for _, key := range m.keys {
		c := m.claims[key.model.Owner]
		if key.model.Pass(m.serverNow()); sound && c != nil && c.call.party == party &&
			key.model.Kind == model.Held && (c.granted || c.ran.Sub(c.call.heard) < heldUp) {
			return fmt.Errorf("client %d was closed, and %s is %v", party, key.name, &key.model)
		}
	}
	return nil
}

// disbelieve ends the belief in what a client held that is closed.
func (m *lockMachine) disbelieve(party int, began time.Time) {
	for _, c := range m.claims {
		if c.call.party == party && c.over.IsZero() {
			c.over = time.Now()
		}
	}
	for _, l := range m.leases {
		if l.claim.call.party != party || l.ended != nil {
			continue
		}
		l.ended = primitives.ErrClosed
		if m.mayHaveLapsed(l.claim, began) && errors.Is(l.lease.Err(), primitives.ErrLost) {
			l.ended = primitives.ErrLost
		}
	}
}

// mayHaveLapsed reports whether a claim's lease may have come to its end since began.
func (m *lockMachine) mayHaveLapsed(c *lockClaim, began time.Time) bool {
	now := time.Now()
	if now.Equal(began) && m.virtual {
		return false
	}
	return c.belief.Look(model.Moment{From: began, To: now.Add(m.guard)}, false) == nil
}
