package anylock

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/rpc"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/conformance/servers/proxy"
)

const (
	brief, long = 2 * time.Second, 30 * time.Second // leases, of those that lose them and of others: no try outlives it
	soon        = 3 * brief / 4                     // of an attempt that should fail
	later       = 4 * time.Second                   // beyond a lease, or beyond the end of a context
	patience    = time.Minute                       // with what works, on any machine
	step        = later / 100                       // of a wait: a machine that is slow makes it longer
)

type stage struct {
	*testing.T
	subject *Subject
	servers []Server
	rand    *rand.Rand
	name    string // of the lock
	began   time.Time
	joined  int
	gone    atomic.Bool // a participant

	mu      sync.Mutex
	history []string
	inside  map[*call]bool // of a crowd
	found   *Result
}

// broken ends the try with its history.
func (st *stage) broken(why string, args ...any) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.gone.Load() {
		st.Fatalf("the process of a participant has ended by itself")
	}
	history := strings.Join(st.history[max(0, len(st.history)-30):], "")
	panic(Result{Outcome: Broken, Why: fmt.Sprintf(why, args...), History: history})
}

func (st *stage) needs(has bool, otherwise Outcome, what string) {
	if !has {
		panic(Result{Outcome: otherwise, Why: what})
	}
}

func (st *stage) note(text string, args ...any) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.history = append(st.history, st.line(time.Now(), text, args...))
}

func (st *stage) line(at time.Time, text string, args ...any) string {
	return fmt.Sprintf("%10.3f s  %s\n", at.Sub(st.began).Seconds(), fmt.Sprintf(text, args...))
}

type member struct {
	*stage
	index  int
	lease  time.Duration
	links  []*proxy.Proxy
	child  *servers.Child // nil: it is in this process
	killed atomic.Bool
	obey   func(o order, a *answer) error
}

func (m *member) String() string { return "P" + strconv.Itoa(m.index) }

func (st *stage) join(lease time.Duration) *member {
	m := &member{stage: st, index: st.joined, lease: lease}
	st.joined++
	var addrs []string
	for _, s := range st.servers {
		if s.RESP {
			m.links = append(m.links, proxy.Start(st, s.Addr, nil))
			s.Addr = m.links[len(m.links)-1].Addr()
		}
		addrs = append(addrs, s.Addr)
	}
	if m.obey = newParticipant(st.subject, m.index, lease, addrs).Obey; st.subject.InProcess {
		return m
	}
	m.child = servers.StartChild(m, os.Args[0], path.Dir(m.T.Name()), append([]string{strconv.Itoa(m.index), lease.String()}, addrs...)...)
	orders, err := rpc.Dial("tcp", m.child.Next(m))
	if err != nil {
		m.Fatalf("reaching %v: %v", m, err)
	}
	m.obey = func(o order, a *answer) error { return orders.Call("Participant.Obey", o, a) }
	return m
}

// call is an order that a member was given. What came of it is there once done is closed.
type call struct {
	*member
	order
	answer
	of    *call     // that was to take the lock: itself, or an earlier one
	began time.Time // the participant has not begun it before
	done  chan struct{}
	ended time.Time
	err   error
	look  *call // at its context, when its process goes on
}

// asks gives an order about a call, or to make a new one, and does not wait for the answer.
func (m *member) asks(verb string, of *call, bound time.Duration) *call {
	c := &call{member: m, of: of, began: time.Now(), done: make(chan struct{})}
	c.order = order{Verb: verb, Name: m.name, Bound: bound, Of: int(calls.Add(1))}
	if of == nil {
		c.of = c
	}
	c.Of = c.of.Of
	m.note("%v calls %s", m, verb)
	go func() {
		c.err = m.obey(c.order, &c.answer)
		c.ended = time.Now()
		m.note("%v %s", m, c.outcome())
		if m.child != nil && c.err != nil && !errors.As(c.err, new(rpc.ServerError)) && !m.killed.Load() {
			m.gone.Store(true)
		}
		close(c.done)
	}()
	return c
}

func (c *call) outcome() string {
	switch {
	case c.err != nil:
		return c.Verb + " returns an error: " + strings.ReplaceAll(c.err.Error(), "\n", "; ")
	case c.of != c || c.Verb == "UnlockName":
		return c.Verb + " returns"
	}
	return "is inside" + strings.TrimSuffix(fmt.Sprintf(", token %d", c.Token), ", token 0")
}

// within waits for c for about d. After each step the participant must answer, so a slow machine makes the wait longer and
// breaks no property.
func (c *call) within(d time.Duration) bool {
	for ; d > 0 && !closed(c.done); d -= step {
		select {
		case <-c.done:
		case <-time.After(min(d, step)):
			_ = c.obey(order{Verb: "nothing"}, new(answer))
		}
	}
	return closed(c.done)
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (c *call) in(d time.Duration) bool { return c.within(d) && c.err == nil }

// lasts reports whether the lease of a holder cannot have ended by a time. A holder may leave early, for drifting clocks.
func (c *call) lasts(until time.Time) bool { return until.Before(c.began.Add(c.lease * 3 / 4)) }

func (m *member) enter() *call {
	c, begin := m.asks("Lock", nil, patience), time.Now()
	for !c.in(patience+later) && time.Since(begin) < patience/4 {
		time.Sleep(later / 100)
		c = m.asks("Lock", nil, patience)
	}
	if !c.in(0) {
		m.broken("%v did not get the free lock: %v", m, c.err)
	}
	return c
}

func (m *member) waits() *call {
	defer time.Sleep(200*time.Millisecond + 100*draw(m.rand))
	return m.asks("Lock", nil, patience)
}

func (c *call) unlock() *call {
	u := c.asks("Unlock", c, later)
	if !u.within(patience) {
		c.broken("Unlock of %v does not return within %v", c, patience)
	}
	return u
}

func (c *call) keepsOut(other *member) {
	next := other.asks("Lock", nil, soon)
	if next.in(soon+later) && c.lasts(next.ended) {
		c.broken("%v is inside with %v", next, c)
	}
}

// getsIn waits for up to d until a waiter is inside. After half of that, or an error, another calls Lock, too: a new
// participant, or the same one if its call has returned. It fails the try if nobody gets in.
func (st *stage) getsIn(waiter *call, d time.Duration, why string) *call {
	if waiter == nil {
		waiter = st.join(long).asks("Lock", nil, patience)
	}
	if waiter.in(d / 2) {
		return waiter
	}
	other := waiter.member
	if !closed(waiter.done) {
		other = st.join(long)
	}
	c := other.asks("Lock", nil, patience)
	for ; d > 0; d -= 2 * step {
		if c.in(step) {
			return c
		} else if waiter.in(0) {
			return waiter
		}
		if closed(c.done) {
			time.Sleep(step)
			c = other.asks("Lock", nil, patience)
		}
	}
	st.broken("nobody is inside %s", why)
	return nil
}

func (m *member) silence() {
	for _, link := range m.links {
		m.note("nothing passes the link of %v from now on", m)
		link.Blackhole()
	}
}

// stop stops the process of a holder, which looks at its context when it goes on.
func (c *call) stop() {
	if c.Context {
		c.look = c.asks("Context.Err", c, patience)
	}
	time.Sleep(brief / 10)
	c.note("%v is stopped", c)
	c.needs(c.child.Pause() == nil, NotTried, "no signal stops a process here")
}

func (m *member) goOn() {
	m.note("%v goes on", m)
	if m.child != nil {
		_ = m.child.Resume()
	}
	for _, link := range m.links {
		link.Restore()
	}
}

func (m *member) kill() {
	m.note("%v is killed", m)
	m.killed.Store(true)
	m.child.Kill(m)
}
