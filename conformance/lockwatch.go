package conformance

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/model"
	"github.com/hasp-go/hasp/primitives"
)

// sent implements watcher.
func (m *lockMachine) sent(r *scriptRun) error {
	switch r.name {
	case "lock_acquire":
		return m.asks(r)
	case "lock_renew":
		return m.renews(r)
	case "lock_release", "lock_release_all":
		return m.releases(r)
	}
	return nil
}

// callOf implements watcher.
func (m *lockMachine) callOf(r *scriptRun, named any) any {
	switch r.name {
	case "lock_renew", "lock_release_all":
		return nil
	case "lock_release":
		c := m.claims[r.args[0]]
		if c == nil || c.unlock == nil || c.unlock.sends > 0 ||
			c.belief.Over(m.decided(r, c.unlock.began)) {
			return nil
		}
		return c.unlock
	}
	return named
}

// asks notes a try for a lock: its owner must be new, unless it was refused before, or not sent.
func (m *lockMachine) asks(r *scriptRun) error {
	owner := r.args[0]
	if c := m.claims[owner]; c != nil && m.batches && c.run.unsent(r) {
		c.run.withdrawn = true
	} else if c != nil {
		return fmt.Errorf("owner %s asks again, after %+v", owner, c.call.last)
	}
	call, _ := r.call.(*lockCall)
	if call == nil {
		return errors.New("an acquire that nobody has called for")
	}
	call.sends++
	call.last = lockAnswer{kind: asking, run: r, owner: owner}
	lease, allowance := m.leaseOf(call)
	m.claims[owner] = &lockClaim{
		owner: owner, call: call, run: r,
		belief: model.NewBelief(lease, allowance, m.decided(r, call.heard)),
	}
	return nil
}

// renews checks that only what is held is renewed. What is sent on a real server may have been
// decided a moment ago.
func (m *lockMachine) renews(r *scriptRun) error {
	exact := r.sent.From.Equal(r.sent.To) // It did not queue.
	for _, owner := range r.args[1:] {
		c := m.claims[owner]
		switch {
		case c == nil && m.virtual && exact:
			return fmt.Errorf("owner %s is renewed, who has nothing", owner)
		case c == nil || !m.virtual:
		case !c.over.IsZero() && (exact || c.over.Before(r.sent.From)),
			c.granted && c.belief.Over(r.sent):
			return fmt.Errorf("owner %s is renewed, whose lease has ended", owner)
		case c.call.fixed:
			return fmt.Errorf("owner %s is renewed, whose lease is fixed", owner)
		}
	}
	return nil
}

// releases checks that nobody believes in what is released, from before the release is sent.
func (m *lockMachine) releases(r *scriptRun) error {
	if call, _ := r.call.(*lockCall); call != nil {
		call.sends++
		call.last = lockAnswer{kind: asking, run: r}
	}
	for _, owner := range releasedOwners(r) {
		if err := m.releasesOne(owner); err != nil {
			return err
		}
	}
	return nil
}

// releasedOwners returns the owners that a release is for, one for each key.
func releasedOwners(r *scriptRun) []string {
	if r.name == "lock_release" {
		return r.args[:1]
	}
	return r.args[1 : 1+len(r.keys)]
}

func (m *lockMachine) releasesOne(owner string) error {
	c := m.claims[owner]
	if c == nil {
		return fmt.Errorf("owner %s is released, who has nothing", owner)
	}
	for _, l := range m.leases {
		if l.claim == c && l.lease.Err() == nil {
			return fmt.Errorf("owner %s is released while its lease is believed in", owner)
		}
	}
	if c.over.IsZero() {
		c.over = time.Now()
	}
	return nil
}

// ran implements watcher: the answer to a script must be the model's.
func (m *lockMachine) ran(r *scriptRun) error {
	key := m.key(r.keys[0])
	err := m.compare(r, key)
	if err != nil {
		return fmt.Errorf("%s at %s: %w", r.name, key.name, err)
	}
	if seen, _ := r.call.(*lockSeen); seen != nil {
		*seen = lockSeen{key.model, r.ran, r.reply}
	}
	return nil
}

func (m *lockMachine) key(name string) *lockKey {
	for _, key := range m.keys {
		if key.name == name {
			return key
		}
	}
	return &lockKey{name: name}
}

func (m *lockMachine) compare(r *scriptRun, key *lockKey) error {
	switch r.name {
	case "lock_acquire":
		return m.ranAcquire(r, key)
	case "lock_renew":
		return m.ranRenew(r)
	case "lock_release", "lock_force_release":
		return m.ranRelease(r, key)
	case "lock_release_all":
		return m.ranReleaseAll(r)
	}
	return nil
}

func (m *lockMachine) ranAcquire(r *scriptRun, key *lockKey) error {
	got, err := answerOfAcquire(r.reply, r.err)
	if err != nil {
		return err
	}
	lease, err := millis(r.args[1])
	if err != nil {
		return err
	}
	if c := m.claims[r.args[0]]; c != nil && got.Kind == model.Free {
		c.ran = time.Now()
		if want, _ := m.leaseOf(c.call); lease != want {
			return fmt.Errorf("asks for %v, want %v", lease, want)
		}
	}
	return key.model.Acquire(r.ran, r.args[0], lease, got)
}

func (m *lockMachine) ranRenew(r *scriptRun) error {
	lease, err := millis(r.args[0])
	if err != nil {
		return err
	}
	statuses, err := statusesOf(r.reply, r.err)
	if err != nil {
		return err
	}
	for i, status := range statuses {
		key, owner := m.key(r.keys[i]), r.args[i+1]
		if status < 0 {
			err = key.model.Look(r.ran, model.Other)
		} else {
			err = key.model.Renew(r.ran, owner, lease, status == 1)
		}
		if err != nil {
			return err
		}
		if c := m.claims[owner]; c != nil && status == 1 {
			c.gain = 0
		}
	}
	return nil
}

func (m *lockMachine) ranRelease(r *scriptRun, key *lockKey) error {
	if isConflict(r.err) {
		return key.model.Look(r.ran, model.Other)
	}
	if r.err != nil {
		return r.err
	}
	n, err := r.reply.Int()
	if err != nil {
		return err
	}
	key.changed = key.changed && n == 0
	if r.name == "lock_force_release" {
		m.forget(key)
		return key.model.ForceRelease(r.ran, n == 1)
	}
	return key.model.Release(r.ran, r.args[0], n == 1)
}

// ranReleaseAll compares the status of each lock with the model.
func (m *lockMachine) ranReleaseAll(r *scriptRun) error {
	m.reach("release of several")
	statuses, err := statusesOf(r.reply, r.err)
	if err != nil {
		return err
	}
	if len(statuses) != len(r.keys) {
		return fmt.Errorf("%d statuses for %d locks", len(statuses), len(r.keys))
	}
	for i, owner := range releasedOwners(r) {
		key := m.key(r.keys[i])
		if statuses[i] < 0 {
			err = key.model.Look(r.ran, model.Other)
		} else {
			key.changed = key.changed && statuses[i] == 0
			err = key.model.Release(r.ran, owner, statuses[i] == 1)
		}
		if err != nil {
			return fmt.Errorf("key %s: %w", key.name, err)
		}
	}
	return nil
}

// answered implements watcher.
func (m *lockMachine) answered(r *scriptRun) error {
	call, _ := r.call.(*lockCall)
	switch r.name {
	case "lock_acquire":
		return m.answeredAcquire(r, call)
	case "lock_renew":
		return m.answeredRenew(r)
	case "lock_release":
		if call != nil {
			call.last = answerOfRelease(r)
			call.last.at = time.Now()
		}
	}
	return nil
}

func (m *lockMachine) answeredAcquire(r *scriptRun, call *lockCall) error {
	owner := r.args[0]
	c := m.claims[owner]
	got, err := answerOfAcquire(r.reply, r.err)
	answer := lockAnswer{at: time.Now(), run: r, owner: owner}
	switch {
	case errors.Is(err, errWithdrawn):
		if c != nil && c.run == r {
			delete(m.claims, owner)
		}
		if answer.kind = withdrawn; call.last.run == r {
			call.last = answer
		}
		return nil
	case r.ctx.Err() != nil: // The client waits for no answer any more, and looks for a grant.
		c.over = time.Now()
		answer.kind, answer.err = failed, r.err
	case errors.Is(err, backend.ErrUnavailable): // It surely did not run, and the owner may ask again.
		delete(m.claims, owner)
		answer.kind, answer.err = failed, r.err
	case err != nil:
		c.over = time.Now()
		answer.kind, answer.err = failed, r.err
		m.reach("acquire failed")
	case got.Kind == model.Held:
		delete(m.claims, owner)
		call.heard = r.answered.From
		answer.kind, call.barred = refused, true
	case got.Kind == model.Other:
		c.over = time.Now()
		answer.kind = conflict
	default:
		c.granted = true
		answer.kind, answer.token = granted, got.Token
		if call.snaps {
			call.cancel()
		}
		if c.belief.Granted(r.answered) {
			c.over = time.Now()
			answer.kind = grantedLate
			m.reach("late grant")
		}
	}
	if !call.ended.IsZero() {
		m.reach("answer to one who has left")
		if c.over.IsZero() {
			c.over = time.Now()
		}
	}
	call.last = answer
	return nil
}

func (m *lockMachine) answeredRenew(r *scriptRun) error {
	statuses, err := statusesOf(r.reply, r.err)
	if err != nil {
		m.reach("renewal failed")
		return nil //nolint:nilerr // A link's trouble.
	}
	lease, _ := millis(r.args[0])
	answered, heard := m.renewalHeard(r, lease)
	if !heard {
		m.reach("renewal answered too late")
		return nil
	}
	for i, status := range statuses {
		c := m.claims[r.args[i+1]]
		if c == nil || status < 0 || !c.over.IsZero() {
			continue
		}
		c.belief.Renewed(r.sent, answered, status == 1)
		m.reach([]string{"renewal of a lost lock", "renewal"}[status])
	}
	return nil
}

// renewalHeard returns when the watchdog gets the answer to a renewal; ok is false if it surely does
// not wait for it any more, after a third of the lease. If that is open, as always in real time, the
// moment is a wide one.
func (m *lockMachine) renewalHeard(
	r *scriptRun, lease time.Duration,
) (answered model.Moment, ok bool) {
	answered = r.answered
	took := answered.From.Sub(r.sent.To)
	if took > lease/3-longestQueue {
		answered.From = answered.From.Add(-time.Microsecond)
	}
	return answered, took <= lease/3 || !m.virtual
}

// answerOfRelease is granted if the lock was freed, refused if it was not held.
func answerOfRelease(r *scriptRun) lockAnswer {
	if isConflict(r.err) {
		return lockAnswer{kind: conflict}
	}
	if r.err != nil {
		return lockAnswer{kind: failed, err: r.err}
	}
	if n, err := r.reply.Int(); err != nil || n == 0 {
		return lockAnswer{kind: refused, err: err}
	}
	return lockAnswer{kind: granted}
}

// answerOfAcquire decodes the answer to an acquire. An error is one that says nothing about the key.
func answerOfAcquire(reply backend.Reply, err error) (model.Acquired, error) {
	if isConflict(err) {
		return model.Acquired{Kind: model.Other}, nil
	}
	if err != nil {
		return model.Acquired{}, err
	}
	items, err := reply.Tuple(2)
	if err != nil {
		return model.Acquired{}, err
	}
	if items[0].IsNil() {
		wait, err := items[1].Duration(time.Millisecond)
		return model.Acquired{Kind: model.Held, Wait: wait}, err
	}
	text, err := items[0].Text()
	if err != nil {
		return model.Acquired{}, err
	}
	token, err := strconv.ParseInt(text, 10, 64)
	return model.Acquired{Token: token}, err
}

// statusesOf decodes the answer to a script for several locks: a status for each.
func statusesOf(reply backend.Reply, err error) ([]int64, error) {
	if err != nil {
		return nil, err
	}
	items, err := reply.Items()
	statuses := make([]int64, len(items))
	for i, item := range items {
		n, intErr := item.Int()
		statuses[i], err = n, errors.Join(err, intErr)
	}
	return statuses, err
}

func millis(text string) (time.Duration, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	return time.Duration(n) * time.Millisecond, err
}

// isConflict reports whether a server says that a key is of another kind.
func isConflict(err error) bool {
	var server *backend.ServerError
	return errors.Is(err, primitives.ErrConflict) ||
		errors.As(err, &server) && (server.Code == "WRONGTYPE" || server.Code == "OTHERKIND")
}
