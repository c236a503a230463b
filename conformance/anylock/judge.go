package anylock

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hasp-go/hasp/conformance/servers"
)

var calls atomic.Int64

// judge judges some properties, five at once: mostly they wait. In the process of a participant it does not return.
func judge(t *testing.T, s *Subject, some []Property) *Report {
	t.Helper()
	if servers.IsChild() {
		serve(t, s)
	}
	seed, _ := strconv.ParseUint(cmp.Or(os.Getenv("HASP_SEED"), "1"), 10, 64)
	st := &stage{T: t, subject: s, servers: s.start(t)}
	r, slots, all := &Report{Results: make([]Result, len(some))}, make(chan struct{}, 5), sync.WaitGroup{}
	for i, p := range some {
		all.Go(func() {
			slots <- struct{}{}
			r.Results[i] = st.judge(p, seed)
			<-slots
		})
	}
	if all.Wait(); len(some) > 1 {
		st.try(Property{"wake", "", func(st *stage) { r.Wake = st.wake() }}, seed)
	}
	t.Logf("%v", r)
	return r
}

func (s *Subject) start(tb testing.TB) (all []Server) {
	tb.Helper()
	for range max(1, s.Servers) {
		if s.Serve != nil {
			all = append(all, s.Serve(tb))
		} else if !s.InProcess {
			one := servers.Start(tb, servers.Redis, nil)
			all = append(all, Server{one.Addr(), func() error { return one.Restart(servers.DropData) }, true})
		}
	}
	return all
}

// judge tries a property; if it is broken, once more with the seed, and once with another.
func (st *stage) judge(p Property, seed uint64) Result {
	r := st.try(p, seed)
	if r.Outcome != Broken {
		return r
	}
	r.Times, r.Tries, r.Seed = 1, 3, seed
	again := make(chan Result, 2)
	for i := range uint64(2) {
		go func() { again <- st.try(p, seed+i) }()
	}
	for range 2 {
		if (<-again).Outcome == Broken {
			r.Times++
		}
	}
	return r
}

func (st *stage) try(p Property, seed uint64) Result {
	r := Result{Outcome: NotTried, Why: "the try was given up"}
	st.Run(p.Name, func(t *testing.T) {
		defer func() {
			if end := recover(); end != nil {
				r = end.(Result)
			}
		}()
		p.try(&stage{
			T: t, subject: st.subject, servers: st.servers, rand: rand.New(rand.NewPCG(seed, 0)), //nolint:gosec // It is drawn again.
			name: fmt.Sprintf("anylock-%d-%d", os.Getpid(), calls.Add(1)), began: time.Now(), inside: map[*call]bool{},
		})
		r = Result{}
	})
	r.Property = p.Name
	return r
}

func (st *stage) wake() time.Duration {
	all, next, c := []time.Duration{0}, st.join(long), st.join(long).enter()
	for begin := time.Now(); len(all) < 15 && time.Since(begin) < later; {
		w := next.waits()
		if unlocked := c.unlock(); w.in(patience) {
			all = append(all, w.ended.Sub(unlocked.began))
		}
		c, next = w, c.member
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// String returns the result in a line. Beneath it is the history, if there is one, which fits a screen.
func (r Result) String() string {
	text := strings.TrimSuffix(fmt.Sprintf("%-12v %s: %s", r.Outcome, r.Property, r.Why), ": ")
	if r.Outcome == Broken {
		p := properties[slices.IndexFunc(properties, func(p Property) bool { return p.Name == r.Property })]
		text += fmt.Sprintf(" (%d of %d tries, HASP_SEED=%d)\n\t%s\n%s", r.Times, r.Tries, r.Seed, p.Sentence, r.History)
	}
	return text
}

// String returns all results.
func (r *Report) String() string {
	text := fmt.Sprintf("a waiter is inside %v after an unlock (the median)", r.Wake.Round(100*time.Microsecond))
	for _, one := range r.Results {
		text += "\n" + one.String()
	}
	return text
}
