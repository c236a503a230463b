// Package readwrite has tests of the read-write lock beyond its declaration, in virtual time: hold counts, a lease within
// another, writers that are preferred, and releases in the background.
package readwrite

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

// bubble runs a test in virtual time, with a server within the process.
func bubble(t *testing.T, test func(t *testing.T, s *embedded.Server)) {
	t.Helper()
	cells.Bubble(t, func(t *testing.T) { test(t, embedded.NewServer()) })
}

// inside returns a client of a server within the process, which never polls, and what cuts it off for
// good, as a crash does. Its scripts come to the server at whole milliseconds, which is
// what Redis counts; the embedded server has parts of one, and PTTL, by which scripts reckon, does not.
func inside(t *testing.T, s *embedded.Server) (c *primitives.Client, crash func()) {
	t.Helper()
	var crashed atomic.Bool
	r := &cells.Runner{Backend: must.Get(embedded.New(s, nil))}
	r.Instead = func(ctx context.Context, call backend.Call) (backend.Reply, error) {
		if crashed.Load() {
			return backend.Reply{}, backend.ErrUnavailable
		}
		if now := time.Now(); now.Truncate(time.Millisecond) != now {
			time.Sleep(time.Until(now.Truncate(time.Millisecond).Add(time.Millisecond)))
		}
		return r.Good(ctx, call)
	}
	return cells.Over(t, r, &primitives.Options{PollInterval: time.Hour}), func() { crashed.Store(true) }
}

// leased returns a lock of that name whose leases nobody renews.
func leased(c *primitives.Client, name string, lease time.Duration) *primitives.ReadWriteLock {
	return c.NewReadWriteLock(name, &primitives.ReadWriteLockOptions{Lease: lease})
}

// side is a ReadLock or a WriteLock.
type side interface {
	Lock(ctx context.Context) (*primitives.Lease, error)
	TryLock(ctx context.Context) (*primitives.Lease, error)
	IsLocked(ctx context.Context) (bool, error)
	Remaining(ctx context.Context) (time.Duration, error)
}

// taken returns the lease of a side that must be free.
func taken(ctx context.Context, t *testing.T, l side) *primitives.Lease {
	t.Helper()
	return cells.Got(l.TryLock(ctx))(t)
}

// refused requires that somebody keeps l out.
func refused(t *testing.T, l side) {
	t.Helper()
	require.ErrorIs(t, cells.Err(l.TryLock(t.Context())), primitives.ErrNotAcquired)
}

// left returns how long a key still has, by the server.
func left(t *testing.T, s cells.Doer, key string) time.Duration {
	t.Helper()
	return time.Duration(cells.Number(t, s, "PTTL", key)) * time.Millisecond
}

func unlock(t *testing.T, leases ...*primitives.Lease) {
	t.Helper()
	for _, lease := range leases {
		require.NoError(t, lease.Release(t.Context()))
	}
}

// TestWritersLeaveInTheBackground has the releases of two writers fail: the one of both in the background ends their
// holds, and leaves a lock to the writer's own reader, for as long as that one's lease.
func TestWritersLeaveInTheBackground(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		c := leavingTogether(t, s, "write_release")
		lock := leased(c, "x", time.Hour)
		writer, other := taken(t.Context(), t, lock.WriteLock()), taken(t.Context(), t, c.NewReadWriteLock("y", nil).WriteLock())
		reader := taken(writer.Reenter(t.Context()), t, leased(c, "x", time.Minute).ReadLock())
		leaveTogether(t, writer, other)
		require.Equal(t, "0", cells.Text(t, s, "EXISTS", "y"))
		cells.Want(t, false)(lock.WriteLock().IsLocked(t.Context()))
		cells.Want(t, true)(lock.ReadLock().IsLocked(t.Context()))
		require.LessOrEqual(t, left(t, s, "x"), time.Minute)
		unlock(t, reader)
	})
}

// TestReadersLeaveInTheBackground: a reader with a long lease leaves in the background, and the lock then ends with the
// lease of the reader that stays.
func TestReadersLeaveInTheBackground(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		c, stays := leavingTogether(t, s, "read_release"), cells.Over(t, must.Get(embedded.New(s, nil)), nil)
		reader := taken(t.Context(), t, leased(stays, "x", time.Minute).ReadLock())
		long, other := taken(t.Context(), t, leased(c, "x", time.Hour).ReadLock()), taken(t.Context(), t, leased(c, "y", 0).ReadLock())
		leaveTogether(t, long, other)
		require.LessOrEqual(t, left(t, s, "x"), time.Minute)
		unlock(t, reader)
	})
}

// leavingTogether returns a client whose releases of one hold, by that script, fail: it repeats them in the background,
// those of several holds as one.
func leavingTogether(t *testing.T, s *embedded.Server, script string) *primitives.Client {
	t.Helper()
	r := &cells.Runner{Backend: must.Get(embedded.New(s, nil))}
	r.Instead = func(ctx context.Context, call backend.Call) (backend.Reply, error) {
		if call.Script.Name == script {
			return backend.Reply{}, backend.ErrUnavailable
		}
		return r.Good(ctx, call)
	}
	return cells.Over(t, r, nil)
}

// leaveTogether releases the leases of such a client, and returns when the background has done so.
func leaveTogether(t *testing.T, leases ...*primitives.Lease) {
	t.Helper()
	for _, lease := range leases {
		require.ErrorIs(t, lease.Release(t.Context()), backend.ErrIndeterminate)
	}
	time.Sleep(time.Second)
}

// Each test is named after what was reported of Redisson's read-write lock, with the number of the issue.

// Test4400Queries asks both sides in each state of the lock.
func Test4400Queries(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		c, _ := inside(t, s)
		lock := c.NewReadWriteLock("x", nil)
		requireSides(t, lock, false, false)
		writer := taken(t.Context(), t, lock.WriteLock())
		requireSides(t, lock, false, true)
		reader := taken(writer.Reenter(t.Context()), t, lock.ReadLock())
		requireSides(t, lock, true, true)
		requireHolds(t, lock, reader.Owner(), 1, 0)
		requireHolds(t, lock, writer.Owner(), 0, 1)
		unlock(t, writer)
		requireSides(t, lock, true, false)
		requireHolds(t, lock, writer.Owner(), 0, 0)
		requireHolds(t, lock, reader.Owner(), 1, 0)
		unlock(t, reader)
		requireSides(t, lock, false, false)
		requireHolds(t, lock, reader.Owner(), 0, 0)
	})
}

// requireSides asks which sides are held.
func requireSides(t *testing.T, l *primitives.ReadWriteLock, read, write bool) {
	t.Helper()
	for side, held := range map[side]bool{l.ReadLock(): read, l.WriteLock(): write} {
		cells.Want(t, held)(side.IsLocked(t.Context()))
		remaining := cells.Got(side.Remaining(t.Context()))(t)
		require.Equal(t, held, remaining > 0)
		require.LessOrEqual(t, remaining, 30*time.Second)
	}
}

// requireHolds asks how often owner holds each side.
func requireHolds(t *testing.T, l *primitives.ReadWriteLock, owner string, read, write int64) {
	t.Helper()
	cells.Want(t, read)(l.ReadLock().HoldCount(t.Context(), owner))
	cells.Want(t, write)(l.WriteLock().HoldCount(t.Context(), owner))
	cells.Want(t, read > 0)(l.ReadLock().IsHeldBy(t.Context(), owner))
	cells.Want(t, write > 0)(l.WriteLock().IsHeldBy(t.Context(), owner))
}

// Test343ReaderWithinAWriter releases the read lease first, which Redisson 3.4 took for the last: the
// writer stays, and so does its expiry.
func Test343ReaderWithinAWriter(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		c, _ := inside(t, s)
		writer := taken(t.Context(), t, leased(c, "x", time.Minute).WriteLock())
		reader := taken(writer.Reenter(t.Context()), t, leased(c, "x", 10*time.Second).ReadLock())
		time.Sleep(5 * time.Second)
		unlock(t, reader)
		require.Equal(t, 55*time.Second, left(t, s, "x"))
		refused(t, c.NewReadWriteLock("x", nil).ReadLock())
		unlock(t, writer)
		require.Zero(t, cells.Number(t, s, "EXISTS", "x"))
	})
}

// TestJavaReaderThatHoldsTwice has a thread of Redisson enter as a reader twice: the lock lasts as long as the longer
// of its leases, also when a reader of ours has left.
func TestJavaReaderThatHoldsTwice(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		const java = "11111111-2222-4333-8444-555555555555:28"
		cells.Text(t, s, "HSET", "x", "mode", "read", java, "2")
		cells.Text(t, s, "SET", "{x}:"+java+":rwlock_timeout:1", "1", "PX", "60000")
		cells.Text(t, s, "SET", "{x}:"+java+":rwlock_timeout:2", "1", "PX", "120000")
		cells.Text(t, s, "PEXPIRE", "x", "120000")
		c, _ := inside(t, s)
		lock := c.NewReadWriteLock("x", nil)
		ours := taken(t.Context(), t, lock.ReadLock())
		cells.Want(t, int64(2))(lock.ReadLock().HoldCount(t.Context(), java))
		unlock(t, ours)
		require.Equal(t, 2*time.Minute, left(t, s, "x"))
		time.Sleep(90 * time.Second)
		refused(t, lock.WriteLock())
		time.Sleep(30 * time.Second)
		unlock(t, taken(t.Context(), t, lock.WriteLock()))
	})
}

// preferences are stories of readers of x that stand back for writers. A hold or a waiter has a name, and the clients are a
// and b: see [teller.tell].
var preferences = map[string]string{
	// Readers who stood back join at once when the writer has given up, or its client was closed.
	"AfterAWriterLeft": "reader read a; leaver waits write b; 1s; joiner waits read a; 1s; leaver leaves; " +
		"joiner in 10ms; joiner unlocks; reader unlocks; x unmarked",
	"AfterAWriterClosed": "reader read a; leaver waits write b; 1s; joiner waits read a; 1s; b closes; leaver leaves; " +
		"joiner in 10ms; joiner unlocks; reader unlocks; x unmarked",
	// Readers are kept out when one of two writers gives up, for longer than a lease.
	"WhileAnotherWaits": "reader read a; leaver waits write b; 1ms; writer waits write a; 1s; leaver leaves; " +
		"a refused 60s; reader unlocks; writer in 1m; writer unlocks",
	"WhileAnotherOfTheClientWaits": "reader read a; leaver waits write a; 1ms; writer waits write a; 1s; leaver leaves; " +
		"a refused 60s; reader unlocks; writer in 1m; writer unlocks",
	// A writer comes, and gives up, while a reader with a short lease is in: the first keeps its place for as long as before.
	"WithAShorterLease": "reader read a; writer waits write a; 1s; short read a 1s; leaver waits write b; 100ms; " +
		"leaver leaves; short unlocks; 4s; a refused 1s; reader unlocks; writer in 1m; writer unlocks",
	// A reader waits before a writer in one client: when the lock is free, it stands back, and the writer is in at once.
	// It was so by its poll alone, and after 200 ms the reader was.
	"BehindAReaderThatWaits": "reader read b; leaver waits write a; 1s; standing waits read a; 1s; writer waits write a; " +
		"1s; leaver leaves; 1s; reader unlocks; writer in 100ms; writer unlocks; standing in 1m; standing unlocks",
	// Readers are in when the reader that was in has left.
	"AfterAWriterCrashed": "reader read a; " + behindACrashedWriter + "; reader unlocks; joiner in 250ms; joiner unlocks",
}

// behindACrashedWriter has a writer crash that waits for the readers of x, and a reader wait behind that writer.
const behindACrashedWriter = "crashing waits write b; 1s; b crashes; crashing leaves; a refused 1s; joiner waits read a; 1s"

// TestPreferWriters tells each of them.
func TestPreferWriters(t *testing.T) {
	t.Parallel()
	for name, story := range preferences {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *embedded.Server) {
				p := newTeller(t, s)
				p.tell(t, story)
				cells.Want(t, false)(p.clients["a"].NewReadWriteLock("x", nil).ReadLock().IsLocked(t.Context()))
			})
		})
	}
}

// TestPreferWritersAfterReadersLeftTogether is as AfterAWriterCrashed where the reader leaves with that of another lock.
func TestPreferWritersAfterReadersLeftTogether(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		c, p := leavingTogether(t, s, "read_release"), newTeller(t, s)
		lock := c.NewReadWriteLock("x", &primitives.ReadWriteLockOptions{PreferWriters: true})
		reader, other := taken(t.Context(), t, lock.ReadLock()), taken(t.Context(), t, leased(c, "y", 0).ReadLock())
		p.tell(t, behindACrashedWriter)
		leaveTogether(t, reader, other)
		p.tell(t, "joiner in 250ms")
	})
}

// teller tells stories of x.
type teller struct {
	server  *embedded.Server
	clients map[string]*primitives.Client
	crash   map[string]func()
	actors  map[string]*actor // by name
}

// actor is a hold, or what waits for one.
type actor struct {
	lease *primitives.Lease
	in    chan *primitives.Lease
	leave func() error
}

func newTeller(t *testing.T, s *embedded.Server) *teller {
	t.Helper()
	p := &teller{s, map[string]*primitives.Client{}, map[string]func(){}, map[string]*actor{}}
	for _, name := range []string{"a", "b"} {
		p.clients[name], p.crash[name] = inside(t, s)
	}
	return p
}

// side returns the read or the write side of lock x at a client: with a lease, or else of a lock that prefers writers.
func (p *teller) side(of, client, lease string) side {
	l := p.clients[client].NewReadWriteLock("x", &primitives.ReadWriteLockOptions{PreferWriters: true})
	if lease != "" {
		l = leased(p.clients[client], "x", must.Get(time.ParseDuration(lease)))
	}
	if of == "read" {
		return l.ReadLock()
	}
	return l.WriteLock()
}

// tell tells a story. A hold of a side is had at once, or waited for. A waiter leaves, or is in within a time. A client
// closes, crashes, or has a reader refused each second for a time.
func (p *teller) tell(t *testing.T, story string) {
	t.Helper()
	for step := range strings.SplitSeq(story, "; ") {
		words := append(strings.Fields(step), "", "", "")
		switch who, what := words[0], words[2]; words[1] {
		case "": // A time passes.
			time.Sleep(must.Get(time.ParseDuration(who)))
		case "waits":
			p.actors[who] = waits(t, p.side(what, words[3], ""))
		case "leaves":
			require.Error(t, p.actors[who].leave(), step)
		case "in":
			began := time.Now()
			p.actors[who].lease = cells.Within(t, time.Minute, step, p.actors[who].in)
			require.Less(t, time.Since(began), must.Get(time.ParseDuration(what)), step)
		case "unlocks":
			unlock(t, p.actors[who].lease)
		case "closes":
			require.NoError(t, p.clients[who].Close(t.Context()))
		case "crashes":
			p.crash[who]()
		case "refused":
			for range must.Get(time.ParseDuration(what)) / time.Second {
				time.Sleep(time.Second)
				refused(t, p.side("read", who, ""))
			}
		case "unmarked":
			require.Equal(t, "0", cells.Text(t, p.server, "EXISTS", "hasp_rwlock_writer:{x}"))
		default:
			p.actors[who] = &actor{lease: taken(t.Context(), t, p.side(words[1], what, words[3]))}
		}
	}
}

// waits begins to wait.
func waits(t *testing.T, l side) *actor {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	in, left := make(chan *primitives.Lease, 1), make(chan error, 1)
	go func() {
		lease, err := l.Lock(ctx)
		if err == nil {
			in <- lease
		}
		left <- err
	}()
	return &actor{in: in, leave: func() error { cancel(); return <-left }}
}
