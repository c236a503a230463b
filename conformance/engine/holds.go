package engine

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// claim is what one owner has asked for.
type claim[S, I, O comparable] struct {
	owner     string
	call      *call[S, I, O]
	belief    *Belief
	granted   bool           // the client knows
	ran       time.Time      // when the server granted it
	over      time.Time      // since when nobody trusts it; zero: somebody may
	run       *scriptRun     // the last that asked
	unlock    *call[S, I, O] // the Release that releases it
	forgotten bool           // the server may have lost it
	gain      time.Duration  // of the server's clock since the server was last asked
	spent     bool           // what its call waits for has ended the hold
	queued    bool           // it was refused, and waits in a queue
	stranded  bool           // its key has been of another kind, which nobody can leave
	life      signs          // that it has sent, where others' scripts grant
}

// leaseOf is the length of a call's lease, and how much of it its holder does not trust.
func (m *machine[S, I, O]) leaseOf(c *call[S, I, O]) (lease, drift time.Duration) {
	lease = cmp.Or(m.of.Hold.Fixed(c.in), m.lease)
	return lease, max(lease/10, 2*time.Millisecond)
}

// holdsSent takes what a client sends about holds.
func (m *machine[S, I, O]) holdsSent(r *scriptRun, ins []I) {
	for _, in := range ins {
		switch act, owner, _ := m.of.Hold.Of(in); act {
		case Asks:
			m.asks(r, owner, in)
		case Renews:
			m.renews(r, owner)
		case Releases:
			m.releases(owner)
		}
	}
}

// asks notes a try to acquire: its owner must be new, unless it waits in a queue.
func (m *machine[S, I, O]) asks(r *scriptRun, owner string, in I) {
	old := m.claims[owner]
	must.Not(old != nil && !old.waits(), "owner %s asks again", owner)
	c := m.scriptsCall(r)
	must.Not(c == nil, "owner %s acquires, and nobody has called for that", owner)
	lease, drift := m.leaseOf(c)
	m.claims[owner] = &claim[S, I, O]{
		owner: owner, call: c, run: r, belief: NewBelief(lease, drift, r.sent),
		life: signs{sent: map[int64]*scriptRun{}},
	}
	if now := m.claims[owner]; old != nil { // It keeps its place.
		now.queued, now.ran, now.stranded, now.life = old.queued, old.ran, old.stranded, old.life
	}
	if m.of.Queue != nil {
		c.object.line(m.of.channelOf(c.object.channel, owner))
		if c.waits() {
			m.comes(m.claims[owner], owner, in)
		}
	}
}

// renews checks that only what is held is renewed.
func (m *machine[S, I, O]) renews(r *scriptRun, owner string) {
	c := m.claims[owner]
	must.Not(c == nil, "owner %s is renewed, who has nothing", owner)
	r.lasts = c.belief.lease
	ended := !c.over.IsZero() || c.granted && c.belief.Over(r.sent)
	must.Not(ended, "owner %s is renewed, whose lease has ended", owner)
	must.Not(m.of.Hold.Fixed(c.call.in) > 0 && !m.lengthens(c), "owner %s is renewed, whose lease is fixed", owner)
}

// releases checks that nobody trusts what is released, from before the release is sent.
func (m *machine[S, I, O]) releases(owner string) {
	c := m.claims[owner]
	must.Not(c == nil, "owner %s is released, who has nothing", owner)
	must.Not(m.stays(c), "owner %s leaves the queue, and its call waits", owner)
	for _, l := range m.leases {
		must.Not(l.claim == c && l.lease.Err() == nil, "owner %s is released while its lease is believed in", owner)
	}
	c.ends(time.Now())
}

// ends notes that nobody trusts a claim any more.
func (c *claim[S, I, O]) ends(at time.Time) {
	if c.over.IsZero() {
		c.over = at
	}
}

// unlockOf returns the Release that a release of an owner is part of; nil: it goes on in the background.
func (m *machine[S, I, O]) unlockOf(r *scriptRun, owner string) any {
	c := m.claims[owner]
	if c == nil || c.unlock == nil || c.unlock.sends > 0 || c.belief.Over(r.sent) {
		return nil
	}
	return c.unlock
}

// holdsRan takes what a script has done to a hold.
func (m *machine[S, I, O]) holdsRan(r *scriptRun, in I, out O, before State[S], o *object[S]) {
	act, owner, lease := m.of.Hold.Of(in)
	c := m.claims[owner]
	_, _, granted := m.of.Hold.Grant(out)
	if act == Asks && c != nil && m.of.Hold.Apart != nil && m.of.Ready(before, in) != m.of.Ready(before, c.call.awaits) {
		outer := c.call.outer // Its lease may have ended under the context of which the call was made.
		mayBeOutside := outer != nil && (outer.ended != nil || m.mayHaveLapsed(outer.claim, c.call.began))
		must.Not(!mayBeOutside, "it does not ask for %+v", c.call.awaits)
	}
	switch {
	case act == Asks && granted && c != nil:
		c.ran = time.Now()
		want, _ := m.leaseOf(c.call)
		must.Not(lease != want, "asks for %v, want %v", lease, want)
		if m.of.Hold.Awaits != nil {
			m.arrived(c, out, before)
		}
	case act == Asks && c != nil && m.waiting(c):
		c.ran = time.Now()
		must.Not(c.call.op.Tries, "a call that only tries is queued")
	case act == Renews && m.of.Hold.Done(out) && c != nil:
		c.gain = 0
	case act == NoHold:
		m.forgotten(before, o.state)
	}
}

// forgotten notes that the server has lost what some held in before.
func (m *machine[S, I, O]) forgotten(before, after State[S]) {
	if m.of.Hold == nil {
		return
	}
	for _, owner := range m.of.Hold.Holders(before) {
		c := m.claims[owner]
		if c != nil && !slices.Contains(m.of.Hold.Holders(after), owner) {
			m.reach("forgotten by the server")
			c.forgotten = true
		}
	}
}

// holdsAnswered takes an answer to a script about holds.
func (m *machine[S, I, O]) holdsAnswered(r *scriptRun, c *call[S, I, O]) {
	ins := m.of.Asks(r.script())
	if len(ins) == 0 {
		return
	}
	switch act, owner, _ := m.of.Hold.Of(ins[0]); act {
	case Asks:
		m.answeredAsk(r, c, owner)
	case Renews:
		m.answeredRenewal(r, ins)
	}
}

func (m *machine[S, I, O]) answeredAsk(r *scriptRun, c *call[S, I, O], owner string) {
	claim := m.claims[owner]
	if claim == nil || claim.run != r {
		return
	}
	switch {
	case errors.Is(r.err, backend.ErrUnavailable) && r.ctx.Err() == nil:
		m.unasked(claim) // It certainly did not run, and the owner may ask again.
		return
	case r.ctx.Err() != nil: // The client waits for no answer any more, and looks for a grant.
		claim.over = time.Now()
		c.last.got = false
	case r.err != nil:
		claim.over = time.Now()
	case !m.of.Granted(must.Get(m.of.Answers(r.script()))[0]):
		claim.queued = (m.of.Queue != nil || m.of.Hold.Places != nil) && c.waits()
		m.unasked(claim)
		m.learns(claim)
	default:
		claim.granted = true
		if claim.belief.Granted(r.answered) {
			claim.over = time.Now()
			c.last.late = true
		}
	}
	if !c.ended.IsZero() {
		claim.ends(time.Now())
	}
}

func (m *machine[S, I, O]) answeredRenewal(r *scriptRun, ins []I) {
	if r.err != nil {
		return
	}
	outs := must.Get(m.of.Answers(r.script()))
	_, owner, _ := m.of.Hold.Of(ins[0])
	// The watchdog waits for the answer for a third of the lease that the holder had.
	took, most := r.answered.Sub(r.sent), r.lasts/3
	if m.lengthens(m.claims[owner]) {
		most = math.MaxInt64 // Its call waits for as long as it takes.
	}
	if took > most {
		return
	}
	for i, in := range ins {
		_, owner, _ := m.of.Hold.Of(in)
		c := m.claims[owner]
		if c == nil || !c.over.IsZero() {
			continue
		}
		held := m.of.Hold.Done(outs[i])
		c.call.last.late = c.call.last.late || !held && m.lengthens(c)
		c.belief.Renewed(Renewal{r.sent, r.answered, held})
		m.reach(either(held, "renewal", "renewal of what was lost"))
	}
}

// claimOf returns the claim that the last answer to a call has granted; nil: it was no grant.
func (m *machine[S, I, O]) claimOf(c *call[S, I, O]) *claim[S, I, O] {
	if out, ok := c.last.out.(O); ok && c.last.got {
		owner, _, _ := m.of.Hold.Grant(out)
		return m.claims[owner]
	}
	return nil
}

// holdsJudged notes what a call that has ended as it may has got.
func (m *machine[S, I, O]) holdsJudged(c *call[S, I, O]) {
	claim := m.claimOf(c)
	switch {
	case claim == nil:
	case c.err == nil:
		m.reach("grant")
		m.addLease(c.lease, claim)
	default:
		m.reach("grant given back")
		claim.over = c.ended
	}
}

// mayHaveLapsed reports whether a claim's lease may have come to its end since began.
func (m *machine[S, I, O]) mayHaveLapsed(c *claim[S, I, O], began time.Time) bool {
	now := time.Now()
	return c != nil && !now.Equal(began) && !c.belief.Good(now)
}

// lookAtClaim compares what a client assumes with what the server knows.
func (m *machine[S, I, O]) lookAtClaim(c *claim[S, I, O]) {
	now := time.Now()
	if c.granted && c.belief.Over(now) {
		c.ends(c.belief.Ends())
		if now.Before(c.over) {
			c.over = now // The server said so.
		}
	}
	switch {
	case !c.granted && c.over.IsZero(): // It is being asked for.
		m.lookAtPlace(c, now)
	case c.over.IsZero():
		m.lookAtBelief(c, now)
	default:
		m.lookAtOrphan(c, now)
	}
}

// has reports whether a claim's owner holds the object.
func (m *machine[S, I, O]) has(c *claim[S, I, O]) bool {
	return slices.Contains(m.of.Hold.Holders(c.call.object.state), c.owner)
}

// lookAtBelief checks that what a holder trusts is held, and renewed in time.
func (m *machine[S, I, O]) lookAtBelief(c *claim[S, I, O], now time.Time) {
	p := m.parties[c.call.party]
	lease, drift := c.belief.lease, c.belief.drift
	must.Not(c.belief.Good(now) && !c.forgotten && !c.spent && c.gain <= drift && !m.has(c),
		"it believes in what is %v", c.call.object.state)
	since, sound := m.soundSince(p)
	trip := m.trip(p)
	retry := lease/3 + lease/10 + trip
	if m.of.Hold.Fixed(c.call.in) > 0 || !m.has(c) || !sound || trip > lease/4 || now.Sub(since) <= retry {
		return
	}
	due := latest(c.belief.since.Add(lease/3), c.call.last.at)
	must.Not(now.Sub(due) > trip+time.Millisecond, "its lease was to be renewed at %v", due)
}

// releasePatience is how long one try to give back may hang, and releasePause the time between two rounds of tries.
const releasePatience, releasePause = time.Second, 2 * time.Millisecond

// lookAtOrphan checks that what nobody trusts any more is given back, and the places of waiters that have left.
func (m *machine[S, I, O]) lookAtOrphan(c *claim[S, I, O], now time.Time) {
	p := m.parties[c.call.party]
	since, sound := m.soundSince(p)
	lasts := m.lasts(c)
	if !m.keeps(c) || !sound || c.ran.Sub(c.over) > lasts/2 || m.forsaken(c, now) {
		return
	}
	allowed, from := m.trip(p)+releasePause+time.Millisecond, c.over
	if since.After(c.over) || c.ran.After(c.over) {
		from = latest(since, c.over, c.ran)
		allowed += releasePatience + max(500*time.Millisecond, min(lasts, from.Sub(c.over)+lasts/8)/8)
	}
	age := now.Sub(from)
	must.Not(age > allowed, "nobody has believed in it for %v, and it is %v", age, c.call.object.state)
}

// lasts is how long the server keeps what a claim's owner has, or its place.
func (m *machine[S, I, O]) lasts(c *claim[S, I, O]) time.Duration {
	lasts, _ := m.leaseOf(c.call)
	if m.of.Queue != nil {
		lasts = max(lasts, m.place(c.call))
	}
	return lasts
}

// forsaken reports whether a client looks no more for what it could not give back, since its lease must have ended:
// that was made longer, by its id.
func (m *machine[S, I, O]) forsaken(c *claim[S, I, O], now time.Time) bool {
	lasts := m.lasts(c)
	return m.parties[c.call.party].good.Sub(c.over) > lasts/2 && now.Sub(c.over) > lasts
}

// heldUp is how late a request may be granted to nobody: a closed client looks for it until then.
const heldUp = time.Second

// closed implements watcher: what a closed client held is released, and nobody trusts it. A
// request that was held up on its way may be granted when nobody looks for it any more.
func (m *machine[S, I, O]) closed(party int, began time.Time, sound bool) {
	if m.of.Takes != nil && sound {
		m.takesClosed(party)
	}
	if m.of.Hold == nil {
		return
	}
	m.disbelieve(party, began)
	for _, c := range m.claims {
		o := c.call.object
		m.pass(o, m.serverNow())
		left := c.call.party == party && m.keeps(c) && (c.granted || c.ran.Sub(c.call.refused) < heldUp)
		must.Not(sound && left && !m.forsaken(c, began), "client %d was closed, and %s is %v", party, o.name, o.state)
	}
}

// disbelieve ends the trust in what a closed client held.
func (m *machine[S, I, O]) disbelieve(party int, began time.Time) {
	for _, c := range m.claims {
		if c.call.party == party {
			c.ends(time.Now())
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
