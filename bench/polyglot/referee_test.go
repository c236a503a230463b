//go:build unix

package main

import (
	"bufio"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// referee knows which loop is inside, without a server: each loop says "begin", "in" and "out", and goes on when the
// referee has answered.
type referee struct {
	path     string // of its socket
	listener net.Listener

	mu      sync.Mutex
	over    bool
	inside  *loop
	since   time.Time
	tallies map[string]*tally // by library
	twice   []string
	next    *fault            // for the next loop of its library that is inside
	stopped map[int]time.Time // when, by process: its loops' waits do not count
}

// tally is what a library came to.
type tally struct {
	turns                 int
	longestWait, starving time.Duration // of one loop; of all its loops
	last                  time.Time     // that one was inside
	stopped, learned      int
	errors                []string
}

// loop is one of a process.
type loop struct {
	library string
	pid     int
	begun   time.Time
	struck  bool // the referee has stopped or killed its process while it was inside
	killed  bool
	learned bool // of the loss, after that
}

// fault is a signal to the process of a loop that is inside.
type fault struct {
	library string
	signal  syscall.Signal
	struck  chan int // the process
}

func newReferee(t *testing.T, libraries []string) *referee {
	t.Helper()
	r := &referee{path: filepath.Join(t.TempDir(), "socket"), tallies: map[string]*tally{}, stopped: map[int]time.Time{}}
	var err error
	r.listener, err = net.Listen("unix", r.path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.listener.Close() })
	for _, library := range libraries {
		r.tallies[library] = &tally{last: time.Now()}
	}
	go func() {
		for {
			conn, err := r.listener.Accept()
			if err != nil {
				return
			}
			go r.follow(conn)
		}
	}()
	return r
}

// follow answers a loop until the loop ends. A loop that ends inside holds the lock until the expiry.
func (r *referee) follow(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	lines, l := bufio.NewReader(conn), &loop{}
	text, err := lines.ReadString('\n')
	if i := strings.LastIndex(text, " "); i > 0 && err == nil {
		l.library = text[:i]
		l.pid, err = strconv.Atoi(strings.TrimSpace(text[i:]))
	}
	for err == nil {
		if text, err = lines.ReadString('\n'); err != nil {
			break
		}
		if answer := r.said(l, strings.TrimSpace(text), time.Now()); answer != "" {
			_, err = fmt.Fprintln(conn, answer)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l.struck = true
}

// said notes what a loop says, and returns the answer. There is none for a loop that is killed: it may run for a moment.
func (r *referee) said(l *loop, text string, now time.Time) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	word, failure, _ := strings.Cut(text, " ")
	switch word {
	case "begin":
		if r.over {
			return "end"
		}
		l.begun, l.struck, l.learned = now, false, false
	case "in":
		if r.enter(l, now); l.killed {
			return ""
		}
	case "out":
		if r.inside == l {
			r.inside = nil
		}
	default:
		r.failed(l, failure)
	}
	return "go"
}

// enter notes that a loop has the lock. A holder that was struck cannot say that it is out: for half of the expiry nobody
// may follow it, and then the next one may.
func (r *referee) enter(l *loop, now time.Time) {
	if in := r.inside; in != nil && (!in.struck || now.Sub(r.since) < expiry/2) {
		r.twice = append(r.twice, fmt.Sprintf("%s after %v of %s", l.library, now.Sub(r.since), in.library))
	}
	r.inside, r.since = l, now
	own := r.tallies[l.library]
	own.turns++
	if !r.stopped[l.pid].After(l.begun) {
		own.longestWait = max(own.longestWait, now.Sub(l.begun))
	}
	own.wait(now)
	if f := r.next; f != nil && f.library == l.library && syscall.Kill(l.pid, f.signal) == nil {
		r.next, l.struck, r.stopped[l.pid] = nil, true, now
		l.killed = f.signal == syscall.SIGKILL
		if !l.killed { // On a busy machine the process stops later.
			_, _ = syscall.Wait4(l.pid, nil, syscall.WUNTRACED, nil)
		}
		f.struck <- l.pid
	}
}

// wait notes for how long no loop of a library was inside.
func (c *tally) wait(now time.Time) {
	c.starving, c.last = max(c.starving, now.Sub(c.last)), now
}

// failed notes an error. A holder that was stopped beyond its expiry should have one.
func (r *referee) failed(l *loop, text string) {
	own := r.tallies[l.library]
	switch {
	case !l.struck:
		own.errors = append(own.errors, text)
	case !l.learned:
		own.learned++
		l.learned = true
	}
}

// strike has a loop of a library get a signal when it is inside, and returns its process; 0 if it has no turn for long.
func (r *referee) strike(library string, signal syscall.Signal) (pid int) {
	f := &fault{library, signal, make(chan int, 1)}
	r.mu.Lock()
	r.next = f
	r.mu.Unlock()
	select {
	case pid = <-f.struck:
	case <-time.After(starving):
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next = nil
	select {
	case pid = <-f.struck: // meanwhile
	default:
	}
	if signal == syscall.SIGSTOP && pid != 0 {
		r.tallies[library].stopped++
	}
	return pid
}

// end has the loops end when their turns do.
func (r *referee) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	for _, own := range r.tallies {
		own.wait(time.Now())
	}
}

// results returns the tallies when no loop is left. Nobody was inside with another, and nothing failed without a fault.
func (r *referee) results(t *testing.T) map[string]*tally {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Empty(t, r.twice, "two were inside")
	for library, own := range r.tallies {
		require.Empty(t, own.errors, library)
	}
	return r.tallies
}

// TestReferee: two loops inside are one too many, except after a holder that was struck, and not before half of its expiry.
func TestReferee(t *testing.T) {
	t.Parallel()
	r, now := newReferee(t, []string{"a", "b"}), time.Now()
	a, b := &loop{library: "a"}, &loop{library: "b"}
	say := func(l *loop, word string, after time.Duration) {
		now = now.Add(after)
		require.Equal(t, "go", r.said(l, word, now))
	}
	for _, l := range []*loop{a, b} {
		say(l, "begin", 0)
		say(l, "in", time.Second)
		say(l, "out", time.Second)
	}
	require.Empty(t, r.twice)
	require.Equal(t, time.Second, r.tallies["a"].longestWait)
	say(a, "in", 0)
	say(b, "in", time.Hour)
	require.Len(t, r.twice, 1)
	b.struck = true
	say(a, "in", expiry/2-1)
	require.Len(t, r.twice, 2)
	a.struck = true
	say(b, "in", expiry/2)
	require.Len(t, r.twice, 2)
	say(a, "error it is lost", 0)
	say(a, "error it is lost", 0)
	require.Equal(t, 1, r.tallies["a"].learned)
	say(b, "begin", 0)
	say(b, "error no server", 0)
	require.Equal(t, []string{"no server"}, slices.Concat(r.tallies["a"].errors, r.tallies["b"].errors))
	r.end()
	require.Equal(t, "end", r.said(a, "begin", now))
}
