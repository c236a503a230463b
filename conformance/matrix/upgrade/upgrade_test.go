// Package upgrade has tests of two versions of hasp on one server, as a rolling deploy has them: processes of this
// checkout, and processes of the last release, share each kind of object.
package upgrade

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/anylock"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
)

const (
	endless = time.Hour       // a lease that no test outlives: only a message wakes a waiter
	crashed = 9 * time.Second // a lease that is renewed, and then ends
)

// process is a peer, and the answers that the test waits for.
type process struct {
	*cells.Child

	mu      sync.Mutex
	answers []chan string // by the order's number
}

// start starts a process of a version.
func start(t *testing.T, program string, s cells.Server, lease time.Duration) *process {
	t.Helper()
	p := &process{
		Child:   cells.StartChild(t, program, "TestPeer", s.Addr(), lease.String()),
		answers: []chan string{make(chan string, 1)},
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

// begin sends an order, and returns its number, and where its answer comes.
func (p *process) begin(verb, kind, name string) (number string, answer <-chan string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	got := make(chan string, 1)
	number = strconv.Itoa(len(p.answers))
	p.answers = append(p.answers, got)
	if err := p.Order(strings.Join([]string{number, verb, kind, name}, " ")); err != nil {
		got <- err.Error()
	}
	return number, got
}

// do sends an order, and waits for its answer.
func (p *process) do(t *testing.T, verb, kind, name string) string {
	t.Helper()
	_, answer := p.begin(verb, kind, name)
	return cells.Within(t, conformance.Patience, verb+" "+kind, answer)
}

// token returns the token of an acquire that was granted.
func token(answer string) (n int64, err error) {
	if _, err = fmt.Sscanf(answer, "granted %d", &n); err != nil {
		err = fmt.Errorf("the answer is %q", answer)
	}
	return n, err
}

// pair has a process of each version. The first has acquired, or acts first.
type pair struct{ first, second *process }

// TestUpgrade mixes both versions on one server.
func TestUpgrade(t *testing.T) {
	cells.Proof(t)
	old := build(t)
	for name, programs := range map[string][2]string{"OldFirst": {old, os.Args[0]}, "NewFirst": {os.Args[0], old}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := cells.StartServer(t)
			share(t, pair{start(t, programs[0], s, endless), start(t, programs[1], s, endless)})
			crash(t, pair{start(t, programs[0], s, crashed), start(t, programs[1], s, crashed)})
		})
	}
	s := cells.StartServer(t)
	two := pair{start(t, old, s, endless), start(t, os.Args[0], s, endless)}
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) { t.Parallel(); two.judge(t, kind) })
	}
}

// judge judges a kind as a lock whose participants are those processes, in turn.
func (two pair) judge(t *testing.T, kind string) {
	t.Helper()
	by := func(verb string) func(ctx context.Context, env anylock.Env) (anylock.Hold, error) {
		return func(ctx context.Context, env anylock.Env) (anylock.Hold, error) {
			p := []*process{two.first, two.second}[env.Index%2]
			number, answer := p.begin(verb, kind, env.Name)
			select {
			case got := <-answer:
				return p.hold(kind, number, got)
			case <-ctx.Done():
				p.begin("cancel", kind, number)
				return p.hold(kind, number, <-answer)
			}
		}
	}
	report := anylock.Run(t, anylock.Subject{
		InProcess: true, InOrder: slices.Contains(ordered, kind), Lock: by("acquire"), TryLock: by("try"),
	})
	require.Positive(t, report.Wake, "no message wakes a waiter")
	require.Equal(t, anylock.Holds, report.Of("mutual exclusion").Outcome)
}

// hold returns what an answer to the order to acquire says.
func (p *process) hold(kind, number, answer string) (h anylock.Hold, err error) {
	h.Token, err = token(answer)
	h.Unlock = func(context.Context) error {
		_, released := p.begin("release", kind, number)
		<-released
		return nil
	}
	return h, err
}

// crash: a holder of each kind is renewed while the other version waits. Once the holder is killed, its lease ends,
// and the waiter comes. A permit without a lease is lost with its holder.
func crash(t *testing.T, two pair) {
	t.Helper()
	waiters := map[string]<-chan string{}
	for kind := range kinds {
		if kind != "permit" {
			require.NoError(t, cells.Err(token(two.first.do(t, "acquire", kind, "crash:"+kind))))
			_, waiters[kind] = two.second.begin("acquire", kind, "crash:"+kind)
		}
	}
	time.Sleep(crashed + time.Second)
	for kind, granted := range waiters {
		require.Empty(t, granted, "a waiter has %s while it is renewed", kind)
	}
	two.first.Kill(t)
	for kind, granted := range waiters {
		require.NoError(t, cells.Err(token(cells.Within(t, conformance.Patience, kind+" after the crash", granted))))
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
	_, opened := two.second.begin("latch.wait", "-", "latch")
	require.Equal(t, "1", two.first.do(t, "latch.count", "-", "latch"))
	require.Equal(t, "0", two.first.do(t, "latch.count", "-", "latch"))
	require.Equal(t, "open", cells.Within(t, conformance.Patience, "the latch opens", opened))
}
