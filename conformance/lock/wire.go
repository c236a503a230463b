package lock

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// wireCases are about what other programs see, Redisson above all.
var wireCases = []harness.Case{
	{Name: "LockKeysAreRedissons", Clause: "Lock.Wire", Run: func(ctx context.Context, e *harness.Env) {
		c, _ := engine.NewClient(ctx, e, nil)
		for name, side := range names(e) {
			for _, as := range []engine.Named{{Client: c, Name: name}, engine.Prefixed(ctx, e, name)} {
				wantKeys(ctx, e, as, name, side.token)
			}
		}
	}},
	{
		Name: "ReleaseTellsRedisson", Clause: "Lock.Wire", Needs: []harness.Need{harness.PubSub},
		Run: func(ctx context.Context, e *harness.Env) {
			c, _ := engine.NewClient(ctx, e, nil)
			java := newPeer(ctx, e)
			for name, side := range names(e) {
				lease := must.Get(c.NewLock(name, nil).Lock(ctx))
				// The peer waits as Redisson does: refused, subscribed, refused again.
				box, sub := e.Listen(ctx, java.b, side.channel)
				java.lock(ctx, name, false)
				unlock(ctx, lease)
				box.AwaitMessage(ctx, "0")
				java.lock(ctx, name, true)
				sub.Cancel()
				java.unlock(ctx, name, side.channel, backend.IntegerReply(1))
			}
		},
	},
	{
		Name: "RedissonWakesAWaiter", Clause: "Lock.Wire", Needs: []harness.Need{harness.PubSub},
		Run: func(ctx context.Context, e *harness.Env) {
			c, _ := engine.NewClient(ctx, e, &primitives.Options{PollInterval: engine.Never})
			java := newPeer(ctx, e)
			for name, side := range names(e) {
				java.lock(ctx, name, true)
				java.lock(ctx, name, true)
				var lease *primitives.Lease
				waits := must.Beside(func() { lease = must.Get(c.NewLock(name, nil).Lock(ctx)) })
				e.AwaitSubscribers(ctx, side.channel, 1)
				java.unlock(ctx, name, side.channel, backend.IntegerReply(0))
				java.unlock(ctx, name, side.channel, backend.IntegerReply(1))
				harness.Finish("Lock", waits)
				java.unlock(ctx, name, side.channel, backend.Reply{})
				unlock(ctx, lease)
			}
		},
	},
	{Name: "RedissonKeepsItsHold", Clause: "Lock.Wire", Run: func(ctx context.Context, e *harness.Env) {
		lock, java := newLock(ctx, e), newPeer(ctx, e)
		java.lock(ctx, lock.Name(), true)
		java.lock(ctx, lock.Name(), true)
		must.Refuse[*primitives.Lease]("TryLock", primitives.ErrNotAcquired)(lock.TryLock(ctx))
		bounded, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		must.Refuse[*primitives.Lease]("Lock", context.DeadlineExceeded)(lock.Lock(bounded))
		wantState(ctx, lock, java.owner, 2, time.Second, 30*time.Second)
	}},
}

// ownerForm is that of Redisson's owners: a UUID and a number.
var ownerForm = regexp.MustCompile(
	`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}:-?[0-9]+$`)

// sideNames are what Redisson makes of a lock's name.
type sideNames struct{ channel, token string }

// names returns a lock's name with a hash tag of its own and one without.
func names(e *harness.Env) map[string]sideNames {
	tagged, plain := e.Key("lock"), e.Tag+"-plain"
	braced := "{" + plain + "}"
	return map[string]sideNames{
		tagged: {channel(tagged), token(tagged)},
		plain:  {channel(braced), token(braced)},
	}
}

// wantKeys takes a lock, and looks at its keys.
func wantKeys(ctx context.Context, e *harness.Env, as engine.Named, name, tokenKey string) {
	e.Command(ctx, "DEL", tokenKey)
	lease := must.Get(as.Client.NewLock(as.Name, nil).Lock(ctx))
	must.If(!ownerForm.MatchString(lease.Owner()), "owner %q has not Redisson's form", lease.Owner())
	got := e.Command(ctx, "HGETALL", name)
	want := backend.ArrayReply([]backend.Reply{
		backend.StringReply(lease.Owner()), backend.StringReply("1"),
	})
	must.If(!harness.Same(got, want), "key %s is %v, want %v", name, got, want)
	e.WantText(ctx, tokenKey, fmt.Sprint(lease.Token()))
	left := must.Get(e.Command(ctx, "PTTL", tokenKey).Duration(time.Millisecond))
	must.If(left <= 0 || left > time.Hour, "key %s lives for %v, want up to an hour", tokenKey, left)
	unlock(ctx, lease)
	Leased.AwaitFree(ctx, e, name, harness.Patience/6)
}

// peer is a Redisson client as far as the wire shows: our own scripts, its keys and messages. It
// has a backend of its own.
type peer struct {
	b     backend.Backend
	owner string

	acquire, release *backend.Script
}

func newPeer(ctx context.Context, e *harness.Env) *peer {
	return &peer{
		b:     e.Backend(ctx),
		owner: "11111111-2222-4333-8444-555555555555:28",
		acquire: e.Script(`
			local mine = redis.call('hexists', KEYS[1], ARGV[1]) == 1
			if redis.call('exists', KEYS[1]) == 1 and not mine then
			  return redis.call('pttl', KEYS[1])
			end
			redis.call('hincrby', KEYS[1], ARGV[1], 1)
			redis.call('pexpire', KEYS[1], ARGV[2])
			return false`, 1, backend.Never),
		release: e.Script(`
			if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return false end
			if redis.call('hincrby', KEYS[1], ARGV[1], -1) > 0 then
			  redis.call('pexpire', KEYS[1], ARGV[2])
			  return 0
			end
			redis.call('del', KEYS[1])
			redis.call(ARGV[3], ARGV[4], '0')
			return 1`, 1, backend.Never),
	}
}

// lock acquires with a lease of 30 s, and fails unless that makes it hold, or not.
func (p *peer) lock(ctx context.Context, name string, holds bool) {
	reply := must.Get(p.b.Run(ctx, p.acquire, []string{name}, []string{p.owner, "30000"}))
	must.If(reply.IsNil() != holds, "the peer's acquire returned %v, want it to hold: %t", reply, holds)
}

// unlock releases one hold, and fails unless the script returns want.
func (p *peer) unlock(ctx context.Context, name, channel string, want backend.Reply) {
	args := []string{p.owner, "30000", p.b.Capabilities().Publish(), channel}
	got := must.Get(p.b.Run(ctx, p.release, []string{name}, args))
	must.If(!harness.Same(got, want), "the peer's release returned %v, want %v", got, want)
}
