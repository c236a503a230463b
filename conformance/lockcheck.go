package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/conformance/model"
	"github.com/hasp-go/hasp/primitives"
)

// meddle changes a key behind the back of all clients, as an operator or another program does.
func (m *lockMachine) meddle(ctx context.Context, key *lockKey, a act) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	key.model.Pass(m.serverNow())
	if a.Op == "Peer" && a.Flag && key.model.Kind != model.Free || a.Op == "PeerUnlock" &&
		key.model.Owner != peerOwner {
		return nil
	}
	m.forget(key)
	key.changed = a.Op != "PeerUnlock"
	_, at, err := m.raw(ctx, key.name, "DEL", key.name)
	by := model.ByDeletion
	switch a.Op {
	case "PeerUnlock":
		by = model.ByRelease
		err = errors.Join(err, m.publish(ctx, key.channel, "0"))
	case "Peer":
		return errors.Join(err, m.peer(ctx, key, a))
	case "OtherKind":
		_, _, setErr := m.raw(ctx, key.name, "SET", key.name, "no lock")
		key.model.PutOther()
		return errors.Join(err, setErr)
	}
	if key.model.Kind != model.Free {
		key.model.Delete(at, by)
	}
	return err
}

// peerOwner is one who knows nothing of this package.
const peerOwner = "5f0c2a9e-0000-4000-8000-00000000000a:77"

// peer lets a peer hold the lock, once or twice, with a lease or without.
func (m *lockMachine) peer(ctx context.Context, key *lockKey, a act) error {
	count := int64(1 + a.Which%2)
	_, at, err := m.raw(ctx, key.name, "HSET", key.name, peerOwner, strconv.FormatInt(count, 10))
	lease := a.For.Truncate(time.Millisecond) + time.Millisecond
	if a.Which >= 4 {
		key.model.Put(at, peerOwner, count, 0)
		return err
	}
	millis := strconv.FormatInt(lease.Milliseconds(), 10)
	_, at, expireErr := m.raw(ctx, key.name, "PEXPIRE", key.name, millis)
	key.model.Put(at, peerOwner, count, lease)
	return errors.Join(err, expireErr)
}

// forget notes that the server loses what somebody holds.
func (m *lockMachine) forget(key *lockKey) {
	if c := m.claims[key.model.Owner]; c != nil {
		m.reach("forgotten by the server")
		c.forgotten = true
	}
}

// step moves the server's clock forward: leases end earlier than their holders and waiters know.
func (m *lockMachine) step(d time.Duration) {
	if m.Advance == nil || !m.virtual {
		return // Machines in real time share a server.
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range m.keys {
		key.model.Pass(m.serverNow())
		key.model.Freed = key.model.Freed.Add(d)
	}
	m.Advance(d)
	m.ahead += d
	for _, key := range m.keys {
		held := key.model.Kind == model.Held
		if key.model.Pass(m.serverNow()); held && key.model.Kind == model.Free {
			key.model.Freed = m.serverNow() // Nobody can have known before.
		}
	}
	m.stepped = true
	for _, c := range m.claims {
		c.gain += d
	}
	m.reach("clock step")
}

// check implements machine.
func (m *lockMachine) check(ctx context.Context) error {
	return m.checkAll(m.collect, func() error { return m.look(ctx) })
}

// look compares all that can be seen with the model. The caller holds mu.
func (m *lockMachine) look(ctx context.Context) error {
	for i, l := range m.leases {
		if err := m.checkLease(l); err != nil {
			return fmt.Errorf("lease %d of %s: %w", i, l.claim.owner, err)
		}
	}
	for _, key := range m.keys {
		if err := m.checkKey(ctx, key); err != nil {
			return fmt.Errorf("key %s: %w", key.name, err)
		}
	}
	for _, c := range m.claims {
		if err := m.checkClaim(c); err != nil {
			return fmt.Errorf("owner %s: %w", c.owner, err)
		}
	}
	for _, c := range m.waits {
		if err := m.waitedInVain(c, time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// collect judges the calls in the background that have returned.
func (m *lockMachine) collect() error {
	var errs []error
	m.waits = slices.DeleteFunc(m.waits, func(c *lockCall) bool {
		select {
		case <-c.done:
			errs = append(errs, m.judge(c))
			return true
		default:
			return false
		}
	})
	return errors.Join(errs...)
}

// checkLease compares what a lease says of itself with what it may.
func (m *lockMachine) checkLease(l *lockLease) error {
	ends := l.claim.belief.Ends()
	exact := m.virtual && (l.ended != nil || ends.From.Equal(ends.To))
	told := l.ended != nil || l.claim.belief.Over(model.At(time.Now()))
	if exact && isClosed(l.done) != told {
		return fmt.Errorf("Done is closed: %v, want %v", isClosed(l.done), told)
	}
	begin := time.Now()
	err, rest := l.lease.Err(), l.lease.Remaining()
	at := model.Moment{From: begin, To: time.Now()}
	if l.ended == nil {
		if lookErr := l.claim.belief.Look(at, err == nil); lookErr != nil {
			return fmt.Errorf("%w; it says %v", lookErr, err)
		}
		if err == nil {
			return l.claim.belief.Remaining(at, rest)
		}
		l.ended = primitives.ErrLost
		m.reach("loss")
	}
	if !errors.Is(err, l.ended) || rest != 0 {
		return fmt.Errorf("it says %v, and that %v remain, after its end by %v", err, rest, l.ended)
	}
	return l.checkEnd()
}

// checkEnd checks that each method of a lease reports its end.
func (l *lockLease) checkEnd() error {
	select {
	case <-l.done:
	case <-time.After(Patience / 6):
		return errors.New("Done is not closed")
	}
	if l.work.Err() == nil || !errors.Is(context.Cause(l.work), l.ended) {
		return fmt.Errorf("its context ended by %v, want %v", context.Cause(l.work), l.ended)
	}
	return nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// checkKey compares what is on the server with the model.
func (m *lockMachine) checkKey(ctx context.Context, key *lockKey) error {
	rest, asked, err := m.raw(ctx, key.name, "PTTL", key.name)
	if err != nil {
		return err
	}
	left, err := rest.Duration(time.Millisecond)
	if err != nil {
		return err
	}
	if left == -2*time.Millisecond {
		if err := key.model.Look(asked, model.Free); err != nil {
			return err
		}
		return m.checkToken(ctx, key)
	}
	fields, at, err := m.raw(ctx, key.name, "HGETALL", key.name)
	if isConflict(err) {
		return key.model.Look(at, model.Other)
	}
	if none, _ := fields.Items(); err == nil && len(none) == 0 {
		return key.model.Look(at, model.Free) // It has expired since.
	}
	items, tupleErr := fields.Tuple(2)
	if err := errors.Join(err, tupleErr); err != nil {
		return err
	}
	owner, _ := items[0].Text()
	count, _ := items[1].Text()
	if owner != key.model.Owner || count != strconv.FormatInt(key.model.Count, 10) {
		return fmt.Errorf("held by %s, %s times, but it is %v", owner, count, &key.model)
	}
	if err := key.model.Remaining(asked, left); err != nil {
		return err
	}
	return m.checkToken(ctx, key)
}

func (m *lockMachine) checkToken(ctx context.Context, key *lockKey) error {
	if key.model.Token == 0 {
		return nil
	}
	token, _, err := m.raw(ctx, key.token, "GET", key.token)
	if err != nil {
		return err
	}
	if text, err := token.Text(); err != nil || text != strconv.FormatInt(key.model.Token, 10) {
		return fmt.Errorf("the last token is %s, want %d", text, key.model.Token)
	}
	return nil
}

// checkClaim compares what a client believes with what the server knows.
func (m *lockMachine) checkClaim(c *lockClaim) error {
	now := time.Now()
	if c.granted && c.over.IsZero() && c.belief.Over(model.At(now.Add(-m.guard))) {
		c.over = c.belief.Ends().To
		if now.Before(c.over) {
			c.over = now // The server said so.
		}
	}
	switch {
	case !c.granted && c.over.IsZero():
		return nil // It is being asked for.
	case c.over.IsZero():
		return m.checkBelief(c, now)
	}
	return m.checkOrphan(c, now)
}

// checkBelief checks that what is believed is held, and renewed in time.
func (m *lockMachine) checkBelief(c *lockClaim, now time.Time) error {
	key, p := &c.call.key.model, m.parties[c.call.party]
	lease, allowance := m.leaseOf(c.call)
	good := c.belief.Good(model.Moment{From: now.Add(-m.guard), To: now.Add(m.guard)})
	if good && !c.forgotten && c.gain <= allowance && (key.Kind != model.Held || key.Owner != c.owner) {
		return fmt.Errorf("it believes in a lock that is %v", key)
	}
	since, sound := m.soundSince(p)
	trip := m.trip(p)
	retry := lease/3 + lease/10 + trip
	if c.call.fixed || key.Owner != c.owner || !sound || trip > lease/4 || now.Sub(since) <= retry {
		return nil
	}
	if age := now.Sub(c.belief.Since().To); age > lease/3+trip+time.Millisecond {
		return fmt.Errorf("its lease was renewed %v ago", age)
	}
	return nil
}

// checkOrphan checks that what nobody believes in any more is given back.
func (m *lockMachine) checkOrphan(c *lockClaim, now time.Time) error {
	key, p := &c.call.key.model, m.parties[c.call.party]
	since, sound := m.soundSince(p)
	lease, _ := m.leaseOf(c.call)
	if key.Owner != c.owner || !sound || c.ran.Sub(c.over) > lease/2 {
		return nil
	}
	allowed, from := m.trip(p)+time.Millisecond, c.over
	if since.After(c.over) || c.ran.After(c.over) {
		allowed += releasePatience + max(500*time.Millisecond, lease/8)
		from = latest(since, c.over, c.ran)
	}
	if age := now.Sub(from); age > allowed {
		return fmt.Errorf("nobody has believed in it for %v, and the lock is %v", age, key)
	}
	return nil
}

// releasePatience is how long one try to give back may hang.
const releasePatience = time.Second

// waitedInVain reports that a call stood before a free lock until now, though its client could know
// of that.
func (m *lockMachine) waitedInVain(c *lockCall, now time.Time) error {
	key, p := &c.key.model, m.parties[c.party]
	since, sound := m.soundSince(p)
	key.Pass(m.serverNow())
	if c.try || !sound || p.deaf > 0 || key.Kind != model.Free || key.Freed.IsZero() {
		return nil
	}
	allowed := 4*m.trip(p) + 5*time.Millisecond
	if key.By == model.ByDeletion || key.By == model.ByExpiry && (m.stepped || c.key.changed) {
		allowed += m.poll + m.poll/10
	}
	freed := key.Freed.To.Add(-m.ahead)
	if age := now.Sub(latest(freed, c.began, since, p.heard)); age > allowed {
		return fmt.Errorf("client %d waits for %s, which has been free for %v", c.party, c.key.name, age)
	}
	return nil
}

// owed reports whether somebody waits who can know that the lock is free.
func (m *lockMachine) owed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.waits, func(c *lockCall) bool {
		key, p := &c.key.model, m.parties[c.party]
		_, sound := m.soundSince(p)
		key.Pass(m.serverNow())
		return c.ended.IsZero() && key.Kind == model.Free && key.By == model.ByRelease && sound &&
			p.deaf == 0 && m.Capabilities.PubSub
	})
}

// end implements machine.
func (m *lockMachine) end(ctx context.Context) error {
	var errs []error
	for _, p := range m.parties {
		m.setLink(p, trouble{}, 0, 0)
	}
	errs = append(errs, settleOwed(m.owed, func() error { return m.check(ctx) }))
	for i := range m.parties {
		errs = append(errs, m.check(ctx), m.close(ctx, i))
	}
	for _, c := range m.waits {
		<-c.done
	}
	errs = append(errs, m.check(ctx))
	for _, key := range m.keys {
		limited, cancel := context.WithTimeout(ctx, Patience/6)
		errs = append(errs, m.awaitSubscribers(limited, key.channel, 0))
		cancel()
	}
	return errors.Join(errs...)
}
