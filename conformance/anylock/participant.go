package anylock

import (
	"context"
	"net"
	"net/rpc"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hasp-go/hasp/conformance/servers"
)

// order is what a participant must do, and answer what a call has got. Package net/rpc takes types without a name.
type (
	order = struct {
		Verb, Name string
		Of         int           // the number of the call that is to take the lock, or has taken it
		Bound      time.Duration // of the context
	}
	answer = struct {
		Token           int64
		Context, Extend bool
	}
)

type participant struct {
	subject *Subject
	env     Env        // without a name
	mu      sync.Mutex // for calls
	calls   map[int]*taking
}

// taking is a call that takes the lock, and what it has got. Its context goes on until the lock is unlocked.
type taking struct {
	ctx    context.Context
	cancel context.CancelFunc
	hold   Hold
}

func newParticipant(s *Subject, index int, lease time.Duration, addrs []string) *participant {
	env := Env{Addr: append(addrs, "")[0], Addrs: addrs, Lease: lease, Index: index, opened: &opened{}}
	return &participant{subject: s, env: env, calls: map[int]*taking{}}
}

func serve(tb testing.TB, s *Subject) {
	tb.Helper()
	args, _ := servers.AsChild(tb)
	index, _ := strconv.Atoi(args[0])
	lease, _ := time.ParseDuration(args[1])
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("anylock: listening for orders: %v", err)
	}
	orders := rpc.NewServer()
	_ = orders.RegisterName("Participant", newParticipant(s, index, lease, args[2:]))
	servers.Say(listener.Addr())
	orders.Accept(listener)
}

func (p *participant) Obey(o order, a *answer) (err error) {
	env, s, of := p.env, p.subject, p.call(o)
	env.Name = o.Name
	ctx, cancel := context.WithTimeout(context.Background(), o.Bound)
	defer cancel()
	switch o.Verb {
	case "Lock", "RLock", "TryLock":
		of.hold, err = map[string]func(context.Context, Env) (Hold, error){"Lock": s.Lock, "RLock": s.RLock, "TryLock": s.TryLock}[o.Verb](of.ctx, env)
	case "Unlock":
		err = of.hold.Unlock(ctx)
		of.cancel()
	case "Extend":
		err = of.hold.Extend(ctx)
	case "UnlockName":
		err = s.UnlockName(ctx, env)
	case "Context.Err":
		err = of.hold.look(time.Now().Add(o.Bound))
	case "cancel": // The call goes on meanwhile, so what it has got is not read.
		of.cancel()
		return nil
	}
	*a = answer{of.hold.Token, of.hold.Context != nil, of.hold.Extend != nil}
	return err
}

func (p *participant) call(o order) *taking { // The order to cancel it may come first.
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls[o.Of] == nil {
		ctx, cancel := context.WithTimeout(context.Background(), o.Bound)
		p.calls[o.Of] = &taking{ctx: ctx, cancel: cancel}
	}
	return p.calls[o.Of]
}

// look returns what the context's Err does; before end, on each processor right after the clock has jumped, before timers
// have run. Nil: one of them saw that it goes on.
func (h Hold) look(end time.Time) (err error) {
	looks := make(chan error, runtime.GOMAXPROCS(0))
	for range cap(looks) {
		go func() {
			for last, now := time.Now(), time.Now(); now.Before(end) && now.Sub(last) < brief/2; last, now = now, time.Now() {
			}
			looks <- h.Context.Err()
		}()
	}
	for range cap(looks) {
		if err = <-looks; err == nil {
			return nil
		}
	}
	return err
}
