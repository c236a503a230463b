package conformance

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// lockWireCases are about what other programs see, Redisson above all.
func lockWireCases() []Case {
	pubsub := []need{needsPubSub}
	return []Case{
		{Name: "LockKeysAreRedissons", Clause: "Lock.Wire", check: checkKeys},
		{Name: "ReleaseTellsRedisson", Clause: "Lock.Wire", needs: pubsub, check: checkTellsPeer},
		{Name: "RedissonWakesAWaiter", Clause: "Lock.Wire", needs: pubsub, check: checkPeerWakes},
		{Name: "RedissonKeepsItsHold", Clause: "Lock.Wire", check: checkPeerKeeps},
	}
}

// owners have Redisson's form: a UUID and a number.
var ownerForm = regexp.MustCompile(
	`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}:-?[0-9]+$`)

// names returns a lock's name with a hash tag of its own and one without, with the side names that
// Redisson makes of each.
func (e *env) names() map[string][2]string {
	tagged, plain := e.key("lock"), e.tag+"-plain"
	return map[string][2]string{
		tagged: {"redisson_lock__channel:" + tagged, "redisson_lock_token:" + tagged},
		plain:  {"redisson_lock__channel:{" + plain + "}", "redisson_lock_token:{" + plain + "}"},
	}
}

func checkKeys(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	for name, side := range e.names() {
		prefixed, err := e.prefixed(ctx, name)
		if err != nil {
			return err
		}
		for _, as := range []Named{{c, name}, prefixed} {
			if err := e.checkLockKeys(ctx, as, name, side[1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkLockKeys takes a lock, and looks at its keys.
func (e *env) checkLockKeys(ctx context.Context, as Named, name, tokenKey string) error {
	if _, err := e.Do(ctx, tokenKey, "DEL", tokenKey); err != nil {
		return err
	}
	lease, err := as.Client.NewLock(as.Name, nil).Lock(ctx)
	if err != nil {
		return err
	}
	if !ownerForm.MatchString(lease.Owner()) {
		return fmt.Errorf("owner %q has not Redisson's form", lease.Owner())
	}
	got, err := e.Do(ctx, name, "HGETALL", name)
	want := backend.ArrayReply([]backend.Reply{
		backend.StringReply(lease.Owner()), backend.StringReply("1"),
	})
	if err != nil || !same(got, want) {
		return fmt.Errorf("key %s is %v, %w, want %v", name, got, err, want)
	}
	if err := e.wantText(ctx, tokenKey, fmt.Sprint(lease.Token())); err != nil {
		return err
	}
	ttl, err := e.Do(ctx, tokenKey, "PTTL", tokenKey)
	left, timeErr := ttl.Duration(time.Millisecond)
	if err := errors.Join(err, timeErr); err != nil || left <= 0 || left > time.Hour {
		return fmt.Errorf("key %s lives for %v, %w, want up to the default of an hour", tokenKey, left, err)
	}
	if err := lease.Unlock(ctx); err != nil {
		return err
	}
	return e.awaitFree(ctx, name, Patience/6)
}

// peer is a Redisson client as far as the wire shows: our own scripts, its keys and messages. It
// has a backend of its own.
type peer struct {
	b     backend.Backend
	owner string

	acquire, release *backend.Script
}

func (e *env) peer(ctx context.Context) (*peer, error) {
	b, err := e.backend(ctx)
	if err != nil {
		return nil, err
	}
	return &peer{
		b:     b,
		owner: "11111111-2222-4333-8444-555555555555:28",
		acquire: e.script(`
			local mine = redis.call('hexists', KEYS[1], ARGV[1]) == 1
			if redis.call('exists', KEYS[1]) == 1 and not mine then
			  return redis.call('pttl', KEYS[1])
			end
			redis.call('hincrby', KEYS[1], ARGV[1], 1)
			redis.call('pexpire', KEYS[1], ARGV[2])
			return false`, 1, backend.Never),
		release: e.script(`
			if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return false end
			if redis.call('hincrby', KEYS[1], ARGV[1], -1) > 0 then
			  redis.call('pexpire', KEYS[1], ARGV[2])
			  return 0
			end
			redis.call('del', KEYS[1])
			redis.call(ARGV[3], ARGV[4], '0')
			return 1`, 1, backend.Never),
	}, nil
}

// lock acquires with a lease of 30 s, and reports whether it holds.
func (p *peer) lock(ctx context.Context, name string) (bool, error) {
	reply, err := p.b.Run(ctx, p.acquire, []string{name}, []string{p.owner, "30000"})
	return err == nil && reply.IsNil(), err
}

// unlock releases one hold, and returns the script's answer.
func (p *peer) unlock(ctx context.Context, name, channel string) (backend.Reply, error) {
	args := []string{p.owner, "30000", p.b.Capabilities().Publish(), channel}
	return p.b.Run(ctx, p.release, []string{name}, args)
}

// checkTellsPeer parks the peer as Redisson does: refused, subscribed, refused again.
func checkTellsPeer(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	java, err := e.peer(ctx)
	if err != nil {
		return err
	}
	for name, side := range e.names() {
		lease, err := c.NewLock(name, nil).Lock(ctx)
		if err != nil {
			return err
		}
		box, sub, err := e.listen(ctx, java.b, side[0])
		if err != nil {
			return err
		}
		if got, err := java.lock(ctx, name); err != nil || got {
			return fmt.Errorf("the peer's acquire of a held lock: %t, %w", got, err)
		}
		if err := lease.Unlock(ctx); err != nil {
			return err
		}
		if err := box.awaitMessage(ctx, "0"); err != nil {
			return err
		}
		if got, err := java.lock(ctx, name); err != nil || !got {
			return fmt.Errorf("the peer's acquire after the message: %t, %w", got, err)
		}
		sub.Cancel()
		if _, err := java.unlock(ctx, name, side[0]); err != nil {
			return err
		}
	}
	return nil
}

func checkPeerWakes(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, &primitives.Options{PollInterval: never})
	if err != nil {
		return err
	}
	java, err := e.peer(ctx)
	if err != nil {
		return err
	}
	for name, side := range e.names() {
		for range 2 {
			if got, err := java.lock(ctx, name); err != nil || !got {
				return fmt.Errorf("the peer's acquire: %t, %w", got, err)
			}
		}
		waiting := lockLater(ctx, c.NewLock(name, nil))
		if err := e.awaitSubscribers(ctx, side[0], 1); err != nil {
			return err
		}
		for left := range int64(2) {
			got, err := java.unlock(ctx, name, side[0])
			if err != nil || !same(got, backend.IntegerReply(left)) {
				return fmt.Errorf("the peer's release returned %v, %w, want %d", got, err, left)
			}
		}
		lease, err := soon(waiting)
		if err != nil {
			return err
		}
		if got, err := java.unlock(ctx, name, side[0]); err != nil || !got.IsNil() {
			return fmt.Errorf("the peer's release of our hold returned %v, %w", got, err)
		}
		if err := lease.Unlock(ctx); err != nil {
			return err
		}
	}
	return nil
}

// checkPeerKeeps tries all that must not touch a peer's hold.
func checkPeerKeeps(ctx context.Context, e *env) error {
	a, _, err := e.pair(ctx, nil)
	if err != nil {
		return err
	}
	java, err := e.peer(ctx)
	if err != nil {
		return err
	}
	for range 2 {
		if got, err := java.lock(ctx, a.Name()); err != nil || !got {
			return fmt.Errorf("the peer's acquire: %t, %w", got, err)
		}
	}
	if _, err := a.TryLock(ctx); !errors.Is(err, primitives.ErrNotAcquired) {
		return fmt.Errorf("TryLock returned %w, want ErrNotAcquired", err)
	}
	bounded, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if _, err := a.Lock(bounded); !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("Lock returned %w, want context.DeadlineExceeded", err)
	}
	return wantState(ctx, a, java.owner, true, 2, time.Second, 30*time.Second)
}
