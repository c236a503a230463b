package anylock

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hasp-go/hasp/conformance/servers/proxy"
)

var properties = []Property{
	{"mutual exclusion", "Two participants are never inside at once.", func(st *stage) { st.crowd(nil, "Lock", "Lock", "Lock", "Lock") }},
	{"one process", "Calls of one process exclude each other, too.", func(st *stage) { st.crowd(st.join(long), "Lock", "Lock", "Lock") }},
	{"readers and writers", "A writer is inside alone.", readersAndWriters},
	{"lease", "Nobody else is inside before the lease has passed.", func(st *stage) { st.join(brief).enter().keepsOut(st.join(long)) }},
	{"foreign unlock", "A participant that does not have the lock cannot free it by its name.", foreignUnlock},
	{"late unlock", "An Unlock after the end of the lease does not free the lock of the next holder.", lateUnlock},
	{"killed holder", "The lock of a holder that was killed is free after the lease.", killedHolder},
	{"killed waiter", "A waiter that was killed costs the others one lease at most.", killedWaiter},
	{"restarted server", "After a restart without data one can have the lock, and its former holder does not free it.", restartedServer},
	{"cancelled wait", "A call whose context has ended returns, and leaves nothing.", cancelledWait},
	{"lost answer", "A lock whose grant did not reach the caller is free after the lease.", lostAnswer},
	{"silent link", "A holder whose link is silent learns of its loss before the next is inside.", silentLink},
	{"stopped holder", "A stopped process sees its loss at its first look, and frees nothing of the next holder.", stoppedHolder},
	{"lost lease", "A former holder prolongs no lease.", lostLease},
	{"token", "Each grant has a higher token than all before it.", token},
	{"order of arrival", "Waiters are inside in the order in which they came.", arrival},
}

func readersAndWriters(st *stage) {
	st.needs(st.subject.RLock != nil, NotOffered, "no RLock")
	st.crowd(nil, "Lock", "RLock", "Lock", "RLock")
}

func foreignUnlock(st *stage) {
	st.needs(st.subject.UnlockName != nil, NotOffered, "no UnlockName")
	c := st.join(long).enter()
	st.join(long).asks("UnlockName", nil, later).within(patience)
	c.keepsOut(st.join(long))
}

func (st *stage) loses(cut func(*call), lease time.Duration) (c, next *call) {
	holder, waiter := st.join(brief), st.join(lease)
	c = holder.enter()
	cut(c)
	next = waiter.asks("Lock", nil, patience)
	st.needs(next.in(brief+later), NotTried, "the lease does not end")
	return c, next
}

func (c *call) freesNothingOf(next *call) {
	c.unlock()
	c.unlock() // The first may have met a broken connection.
	next.keepsOut(c.join(long))
}

// knowsOf fails the try unless the context of a former holder has ended at a look, when the next one is inside.
func (c *call) knowsOf(next, look *call) {
	if look.in(patience) {
		c.broken("%v is inside, and the context of %v has not ended", next, c)
	}
}

func lateUnlock(st *stage) { // Without links, only of a lease that nobody renews.
	c, next := st.loses((*call).silence, long)
	c.goOn()
	c.freesNothingOf(next)
}

func silentLink(st *stage) {
	st.needs(len(st.servers) > 0 && st.servers[0].RESP, NotTried, "no server that speaks RESP")
	c, next := st.loses((*call).silence, long)
	st.needs(c.Context, NotOffered, "no Hold.Context")
	c.knowsOf(next, c.asks("Context.Err", c, 0))
}

func stoppedHolder(st *stage) {
	st.needs(!st.subject.InProcess, NotTried, "no processes")
	c, next := st.loses((*call).stop, long)
	st.needs(!c.Context || !c.look.within(0), NotTried, "the machine stood still")
	if c.goOn(); c.Context {
		c.knowsOf(next, c.look)
	}
	c.freesNothingOf(next)
}

func lostLease(st *stage) {
	st.needs(!st.subject.InProcess, NotTried, "no processes")
	c, next := st.loses((*call).stop, brief)
	next.kill()
	c.goOn()
	if c.Extend && c.asks("Extend", c, later).in(patience) {
		st.broken("Extend of %v returns no error after %v was inside", c, next)
	}
	st.getsIn(nil, brief+later, "after the lease of the killed process")
}

func killedHolder(st *stage) {
	st.needs(!st.subject.InProcess, NotTried, "no processes")
	former, holder, waiter := st.join(brief), st.join(brief), st.join(long)
	former.enter().unlock() // It must not prolong the lease of another.
	holder.enter()
	w := waiter.waits()
	holder.kill()
	st.getsIn(w, brief+later, "after the lease")
}

func killedWaiter(st *stage) {
	st.needs(!st.subject.InProcess, NotTried, "no processes")
	c, waiter, next := st.join(long).enter(), st.join(brief), st.join(long)
	waiter.waits()
	w := next.waits()
	waiter.kill()
	c.unlock()
	st.getsIn(w, 2*brief, "after the unlock and a lease") // Sooner than a waiter's poll that makes up for a lost message.
}

func restartedServer(st *stage) {
	st.servers = st.subject.start(st) // These are its own.
	st.needs(len(st.servers) > 0 && st.servers[0].Restart != nil, NotTried, "no server that can be restarted")
	holder, waiter := st.join(brief), st.join(long)
	waiter.enter().unlock() // It has connected.
	c := holder.enter()
	w := waiter.waits()
	st.note("the server restarts, without its data")
	for _, s := range st.servers {
		st.needs(s.Restart() == nil, NotTried, "the server does not restart")
	}
	c.freesNothingOf(st.getsIn(w, brief+later, "after the restart"))
}

func cancelledWait(st *stage) {
	c, waiter := st.join(long).enter(), st.join(long)
	w := waiter.waits()
	w.asks("cancel", w, 0)
	if !w.within(later) {
		st.broken("Lock of %v does not return within %v", w, later)
	} else if w.err == nil && c.lasts(w.ended) {
		st.broken("%v is inside with %v", w, c)
	}
	c.unlock()
	st.getsIn(nil, later, "after the unlock").unlock()
	if len(waiter.links) > 0 {
		st.cancelledGrant(waiter)
	}
}

// cancelledGrant cancels a call that the server has answered, before the answer comes.
func (st *stage) cancelledGrant(caller *member) {
	pass, answered := make(chan struct{}), (<-chan struct{})(nil)
	for _, link := range caller.links {
		answered, _ = link.Answer(naming(st.name), true, func(reply string, _ bool) string { <-pass; return reply })
	}
	w := caller.asks("Lock", nil, patience)
	select {
	case <-answered:
	case <-w.done:
	}
	w.asks("cancel", w, 0)
	w.within(time.Second) // Less than what a driver waits for an answer, if it does not heed contexts.
	close(pass)
	if w.in(later) {
		w.unlock()
	}
	st.getsIn(nil, later, "although the call has returned")
}

func naming(name string) func(words []string) bool {
	return func(words []string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(word, name) })
	}
}

// lostAnswer loses the answer to the first request that names the lock: the connection stays, or breaks.
func lostAnswer(st *stage) {
	st.needs(len(st.servers) > 0 && st.servers[0].RESP, NotTried, "no server that speaks RESP")
	for _, lose := range []func(*proxy.Proxy, func([]string) bool) <-chan struct{}{(*proxy.Proxy).LoseReply, (*proxy.Proxy).CutReply} {
		caller, lost := st.join(brief), []<-chan struct{}{}
		caller.enter().unlock() // Now its connections are open, and its scripts are loaded.
		st.name += "-lost"
		for _, link := range caller.links {
			lost = append(lost, lose(link, naming(st.name)))
		}
		if c := caller.asks("Lock", nil, brief/2); c.in(2 * later) {
			c.unlock()
		}
		st.needs(slices.ContainsFunc(lost, closed), NotTried, "no request names the lock")
		st.getsIn(nil, brief+later, "after the lease").unlock()
	}
}

func token(st *stage) {
	members, last := []*member{st.join(long), st.join(long)}, int64(0)
	for i := range 10 {
		c := members[i%2].enter()
		st.needs(c.Token != 0, NotOffered, "no Hold.Token")
		if c.Token <= last {
			st.broken("token %d comes after %d", c.Token, last)
		}
		last = c.Token
		c.unlock()
	}
}

func arrival(st *stage) {
	st.needs(st.subject.InOrder, NotOffered, "no claim of it: InOrder")
	c, waiting := st.join(long).enter(), []*call{}
	for range 4 {
		waiting = append(waiting, st.join(long).waits())
	}
	for _, next := range waiting {
		if c.unlock(); !next.in(2 * later) {
			st.broken("%v, which came first, is not inside", next)
		}
		c = next
	}
}

// crowd has participants take the lock, each by its verb, and free it, again and again: of several processes, or of a
// shared one. It fails the try if two are inside who do not both read.
func (st *stage) crowd(shared *member, verbs ...string) {
	st.join(long).enter().unlock()
	all := sync.WaitGroup{}
	for _, verb := range verbs {
		m, random := shared, rand.New(rand.NewPCG(st.rand.Uint64(), 0)) //nolint:gosec // It is drawn again.
		if m == nil {
			m = st.join(long)
		}
		for _, link := range m.links {
			link.Delay(draw(random))
		}
		all.Go(func() {
			for begin := time.Now(); time.Since(begin) < later && m.turn(verb, random); time.Sleep(draw(random)) {
			}
		})
	}
	if all.Wait(); st.found != nil {
		panic(*st.found)
	}
}

func draw(random *rand.Rand) time.Duration {
	return time.Duration(random.Int64N(int64(3 * time.Millisecond)))
}

func (m *member) turn(verb string, random *rand.Rand) bool {
	if verb == "Lock" && m.subject.TryLock != nil && random.IntN(6) == 0 {
		verb = "TryLock"
	}
	c := m.asks(verb, nil, patience/2)
	if c.in(patience) {
		c.comes()
		time.Sleep(3 * draw(random)) // Longer than a request, or two that overlap on their way would not meet.
	}
	m.mu.Lock()
	delete(m.inside, c)
	goesOn := m.found == nil
	m.mu.Unlock()
	if c.in(0) {
		c.asks("Unlock", c, later).within(patience)
	}
	return goesOn
}

func (c *call) comes() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for other := range c.inside {
		if (c.Verb != "RLock" || other.Verb != "RLock") && other.lasts(c.ended) {
			history := c.line(other.ended, "%v %s", other, other.outcome()) + c.line(c.ended, "%v %s", c, c.outcome())
			c.found = &Result{Outcome: Broken, Why: fmt.Sprintf("%v is inside with %v", c, other), History: history}
		}
	}
	c.inside[c] = true
}
