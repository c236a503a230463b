// Package upgrade has tests of two versions of hasp on one server, as a rolling deploy has them: processes of this
// checkout, and processes of the last release, share each kind of object.
package upgrade

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
)

const (
	endless = "1h" // a lease that no test outlives: only a message wakes a waiter
	crashed = "9s" // a lease that is renewed twice, and then ends
)

// process is a peer, and the answers that the test waits for.
type process struct {
	*cells.Child
	id string

	mu      sync.Mutex
	answers []chan string // by the order's number
}

// started counts the processes.
var started atomic.Int64

// start starts a process of a version.
func start(t *testing.T, program string, s cells.Server, lease string) *process {
	t.Helper()
	id := strconv.FormatInt(started.Add(1), 10)
	p := &process{
		Child: cells.StartChild(t, program, "TestPeer", s.Addr(), lease, id),
		id:    id, answers: []chan string{make(chan string, 1)},
	}
	go func() {
		for line := range p.Lines {
			number, answer, _ := strings.Cut(line, " ")
			if i, err := strconv.Atoi(number); err == nil {
				p.mu.Lock()
				p.answers[i] <- answer
				p.mu.Unlock()
			}
		}
	}()
	cells.Within(t, conformance.Patience, "the process has started", p.answers[0])
	return p
}

// begin sends an order, and returns where its answer comes.
func (p *process) begin(t *testing.T, verb, kind, name string) <-chan string {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	answer := make(chan string, 1)
	p.answers = append(p.answers, answer)
	require.NoError(t, p.Order(fmt.Sprintf("%d %s %s %%%s%%", len(p.answers)-1, verb, kind, name)))
	return answer
}

// do sends an order, and waits for its answer.
func (p *process) do(t *testing.T, verb, kind, name string) string {
	t.Helper()
	return cells.Within(t, conformance.Patience, verb+" "+kind, p.begin(t, verb, kind, name))
}

// park has the process wait for an object that another holds.
func (p *process) park(t *testing.T, kind, name string) (granted <-chan string) {
	t.Helper()
	granted = p.begin(t, "acquire", kind, name)
	p.do(t, "parked", kind, name)
	return granted
}

// token requires that an acquire was granted, and returns the token.
func token(t *testing.T, answer string) (n int64) {
	t.Helper()
	_, err := fmt.Sscanf(answer, "granted %d", &n)
	require.NoError(t, err, "the answer is %q", answer)
	return n
}

// pair has a process of each version. The first has acquired, or acts first.
type pair struct{ first, second *process }

// TestUpgrade mixes both versions on one server, and lets each go first.
func TestUpgrade(t *testing.T) {
	cells.Proof(t)
	old := build(t)
	for name, programs := range map[string][2]string{"OldFirst": {old, os.Args[0]}, "NewFirst": {os.Args[0], old}} {
		t.Run(name, func(t *testing.T) {
			s := cells.StartServer(t)
			t.Run("Rolling", func(t *testing.T) { t.Parallel(); roll(t, s, programs[0], programs[1]) })
			t.Run("Crash", func(t *testing.T) {
				t.Parallel()
				crash(t, pair{start(t, programs[0], s, crashed), start(t, programs[1], s, crashed)})
			})
			two := pair{start(t, programs[0], s, endless), start(t, programs[1], s, endless)}
			for kind := range kinds {
				t.Run("HandOver/"+kind, func(t *testing.T) { handOver(t, two, kind) })
			}
			for _, kind := range ordered {
				t.Run("Order/"+kind, func(t *testing.T) { order(t, two, kind) })
			}
			t.Run("Shared", func(t *testing.T) { share(t, two) })
		})
	}
}

// handOver: the second version is refused while the first holds, and woken by its release; and the other way round.
func handOver(t *testing.T, two pair, kind string) {
	t.Helper()
	name := "handOver:" + kind
	last := token(t, two.first.do(t, "acquire", kind, name))
	for range 2 {
		require.Equal(t, "refused", two.second.do(t, "try", kind, name))
		granted := two.second.park(t, kind, name)
		require.Equal(t, "released", two.first.do(t, "release", kind, name))
		next := token(t, cells.Within(t, conformance.Patience, "the waiter is woken", granted))
		require.True(t, next > last || next == 0, "token %d after %d", next, last)
		two.first, two.second, last = two.second, two.first, next
	}
	require.Equal(t, "released", two.first.do(t, "release", kind, name))
}

// order: waiters of both versions are granted in the order in which they came.
func order(t *testing.T, two pair, kind string) {
	t.Helper()
	name := "order:" + kind
	token(t, two.first.do(t, "acquire", kind, name))
	holder := two.first
	var granted [4]<-chan string
	for i := range granted {
		// Each process has one waiter by a name; the names of the two objects of a turn differ by their kind alone.
		granted[i] = two.at(i).park(t, kind, name)
	}
	for i := range granted {
		require.Equal(t, "released", holder.do(t, "release", kind, name))
		token(t, cells.Within(t, conformance.Patience, fmt.Sprint("waiter ", i, " comes next"), granted[i]))
		holder = two.at(i)
	}
	require.Equal(t, "released", holder.do(t, "release", kind, name))
}

// at returns the process of the waiter at place i.
func (p pair) at(i int) *process {
	if i%2 == 0 {
		return p.second
	}
	return p.first
}

// crash: a holder of each kind is renewed while the other version waits. Once the holder is killed, its lease ends,
// and the waiter comes. A permit without a lease is lost with its holder.
func crash(t *testing.T, two pair) {
	t.Helper()
	waiters := map[string]<-chan string{}
	for kind := range kinds {
		if kind == "permit" {
			continue
		}
		token(t, two.first.do(t, "acquire", kind, "crash:"+kind))
		waiters[kind] = two.second.park(t, kind, "crash:"+kind)
	}
	var renewed []<-chan string
	for kind := range waiters {
		renewed = append(renewed, two.first.begin(t, "renewals", kind, "crash:"+kind))
	}
	for _, answer := range renewed {
		cells.Within(t, conformance.Patience, "two renewals", answer)
	}
	for kind, granted := range waiters {
		require.Empty(t, granted, "a waiter has %s while it is renewed", kind)
	}
	two.first.Kill(t)
	for kind, granted := range waiters {
		token(t, cells.Within(t, conformance.Patience, kind+" after the crash", granted))
	}
}

// roll replaces processes of the first version one by one by those of the second, and rolls back, while all compete for
// an object of each kind. Each process comes to hold each object, and never two at once.
func roll(t *testing.T, s cells.Server, first, second string) {
	t.Helper()
	var fleet []*contender
	for _, program := range []string{first, first, second, second, first, first} {
		if len(fleet) == 2 {
			fleet[0].stop(t)
			fleet = fleet[1:]
		}
		fleet = append(fleet, contend(t, s, program))
		for _, c := range fleet {
			c.progresses(t, s)
		}
	}
	for _, c := range fleet {
		c.stop(t)
	}
}

// contender is a process that acquires and releases an object of each kind, again and again.
type contender struct {
	*process
	stopped map[string]<-chan string
}

func contend(t *testing.T, s cells.Server, program string) *contender {
	t.Helper()
	c := &contender{start(t, program, s, endless), map[string]<-chan string{}}
	for kind := range kinds {
		c.stopped[kind] = c.begin(t, "contend", kind, "roll:"+kind)
	}
	return c
}

// progresses waits until the process has had each object twice more.
func (c *contender) progresses(t *testing.T, s cells.Server) {
	t.Helper()
	for kind := range c.stopped {
		key := "holds:" + kind + ":" + c.id
		before := holds(t, s, key)
		s.Await(t, kind+" is acquired again", func() bool {
			require.Empty(t, c.stopped[kind], "%s has ended", kind)
			return holds(t, s, key) >= before+2
		})
	}
}

// holds returns a number that the server keeps; 0, if there is none.
func holds(t *testing.T, s cells.Server, key string) int {
	t.Helper()
	reply, err := s.Do("GET", key)
	require.NoError(t, err)
	text, _ := reply.Text()
	n, _ := strconv.Atoi(text)
	return n
}

func (c *contender) stop(t *testing.T) {
	t.Helper()
	c.do(t, "stop", "-", "-")
	for kind, answer := range c.stopped {
		require.Equal(t, "stopped", cells.Within(t, conformance.Patience, kind+" stops", answer), kind)
	}
}

// share: what one version has done, the other sees.
func share(t *testing.T, two pair) {
	t.Helper()
	for _, step := range []struct {
		call        string
		first, next string
	}{
		{"long.add", "1", "2"},
		{"double.add", "0.5", "1"},
		{"rate.try", "granted", "granted"},
		{"rate.try", "refused", "refused"},
		{"job.try", "true", "false"},
		{"adder.add", "added", "added"},
		{"adder.sum", "2", "2"},
		{"id.next", "1", "11"}, // Each process takes a block.
		{"read.hold", "granted", "granted"},
	} {
		name, _, _ := strings.Cut(step.call, ".")
		require.Equal(t, step.first, two.first.do(t, step.call, "-", name), step.call)
		require.Equal(t, step.next, two.second.do(t, step.call, "-", name), step.call)
	}
	require.Equal(t, "refused", two.second.do(t, "try", "write", "read"))
	require.Equal(t, "true", two.first.do(t, "latch.init", "-", "latch"))
	opened := two.second.begin(t, "latch.wait", "-", "latch")
	require.Equal(t, "1", two.first.do(t, "latch.count", "-", "latch"))
	require.Equal(t, "0", two.first.do(t, "latch.count", "-", "latch"))
	require.Equal(t, "open", cells.Within(t, conformance.Patience, "the latch opens", opened))
}
