package anylock

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

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
