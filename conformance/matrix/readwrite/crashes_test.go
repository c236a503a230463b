package readwrite

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// What [TestWritersAmongCrashingReaders] lets happen, beside a writer every second.
const (
	minute  = time.Minute
	readers = 20
	poll    = time.Second
)

// TestWritersAmongCrashingReaders lets 20 readers with random leases come and go for a minute, of whom
// every third crashes, and a writer come every second. Each writer is in within 200 ms and a poll after the
// last hold that it met has ended. No reader is evicted: the server has each read hold for its whole
// lease, or until its release, and for as long as the reader believes in it. It is in virtual time, where
// these bounds are exact on any machine.
func TestWritersAmongCrashingReaders(t *testing.T) {
	cells.Proof(t)
	for name, s := range map[string]*scene{
		"Joining":       {pause: 20 * time.Second}, // Readers who overlap more often would starve writers.
		"PreferWriters": {pause: 4 * time.Second, prefer: true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, server *embedded.Server) {
				s.server = server
				s.play(t)
				crashed := 0
				for _, h := range s.holds {
					if h.crashes {
						crashed++
					}
				}
				require.Equal(t, int(minute/time.Second), s.writers)
				require.Greater(t, len(s.holds), 2*readers)
				require.Equal(t, (len(s.holds)+2)/3, crashed)
				require.Greater(t, s.looks, 5*len(s.holds))
				t.Logf("%d writers, in %v after the last hold at the latest; %d read holds, %d of them crashed, "+
					"found on the server %d times", s.writers, s.longest, len(s.holds), crashed, s.looks)
			})
		})
	}
}

// scene is a read-write lock with its readers and writers.
type scene struct {
	server *embedded.Server
	prefer bool
	pause  time.Duration // how long a reader stays away at most

	mu      sync.Mutex
	holds   []*readHold
	writing bool
	vacated time.Time // when the last writer left
	writers int
	longest time.Duration // what a writer waited at most when all others had left
	looks   int           // how often a read hold was looked for on the server, and found
}

// readHold is what a reader has.
type readHold struct {
	lease   *primitives.Lease
	ends    time.Time // when it is released, or its lease ends on the server
	left    bool      // it is being released
	crashes bool
}

// play lets readers and writers come and go for a minute, and returns when all have left.
func (s *scene) play(t *testing.T) {
	t.Helper()
	var all, looking sync.WaitGroup
	done := make(chan struct{})
	looking.Go(func() { s.lookUntil(t, done) })
	end := time.Now().Add(minute)
	for range readers {
		all.Go(func() {
			for time.Now().Before(end) {
				time.Sleep(rand.N(s.pause)) //nolint:gosec // A schedule.
				s.readOnce(t)
			}
		})
	}
	for time.Now().Before(end) {
		time.Sleep(time.Second)
		all.Go(func() { s.writeOnce(t) })
	}
	all.Wait()
	close(done)
	looking.Wait()
}

// lock returns the lock of a process of its own, and what makes that crash.
func (s *scene) lock(t *testing.T, lease time.Duration) (l *primitives.ReadWriteLock, crash func()) {
	t.Helper()
	c, crash := polling(t, s.server, poll)
	return c.NewReadWriteLock("x", &primitives.ReadWriteLockOptions{
		Lease: lease, PreferWriters: s.prefer,
	}), crash
}

// readOnce is a process that reads once, and crashes or not.
func (s *scene) readOnce(t *testing.T) {
	t.Helper()
	length := 200*time.Millisecond + rand.N(2*time.Second).Truncate(time.Millisecond) //nolint:gosec // A schedule.
	l, crash := s.lock(t, length)
	lease, err := l.ReadLock().Lock(t.Context())
	if err != nil {
		t.Error(err)
		return
	}
	h := s.entered(t, lease, length)
	if h.crashes {
		crash()
		return
	}
	time.Sleep(rand.N(length * 8 / 10)) //nolint:gosec // A schedule.
	s.leave(h)
	if err := lease.Unlock(t.Context()); err != nil {
		t.Errorf("a reader has lost its hold: %v", err)
	}
}

// entered notes a read hold. Every third crashes.
func (s *scene) entered(t *testing.T, lease *primitives.Lease, length time.Duration) *readHold {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writing {
		t.Error("a reader is in beside a writer")
	}
	h := &readHold{lease: lease, ends: time.Now().Add(length), crashes: len(s.holds)%3 == 0}
	s.holds = append(s.holds, h)
	return h
}

// leave notes that a read hold is being released.
func (s *scene) leave(h *readHold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.left, h.ends = true, time.Now()
}

// writeOnce is a process that writes once.
func (s *scene) writeOnce(t *testing.T) {
	t.Helper()
	asked := time.Now()
	l, _ := s.lock(t, 0)
	lease, err := l.WriteLock().Lock(t.Context())
	if err != nil {
		t.Error(err)
		return
	}
	s.requireAlone(t, asked)
	time.Sleep(20 * time.Millisecond)
	s.mu.Lock()
	s.writing, s.vacated = false, time.Now()
	s.mu.Unlock()
	if err := lease.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}

// requireAlone requires that a writer which is in is alone, and that it did not wait for long when it
// could enter.
func (s *scene) requireAlone(t *testing.T, asked time.Time) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	last := later(asked, s.vacated)
	for _, h := range s.holds {
		if h.ends.After(time.Now()) {
			t.Errorf("a writer is in beside the reader %s", h.lease.Owner())
		}
		last = later(last, h.ends)
	}
	if s.writing {
		t.Error("two writers are in")
	}
	s.writing = true
	s.writers++
	late := time.Since(last)
	s.longest = max(s.longest, late)
	if late > 200*time.Millisecond+poll*11/10 { // Polls come give or take a tenth.
		t.Errorf("a writer is in %v after the last hold", late)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// lookUntil looks every 50 ms, until done, if the server still has each read hold whose lease has not
// ended, or in which its reader believes.
func (s *scene) lookUntil(t *testing.T, done <-chan struct{}) {
	t.Helper()
	for {
		select {
		case <-done:
			return
		case <-time.After(50 * time.Millisecond):
			s.look(t)
		}
	}
}

func (s *scene) look(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.holds {
		if h.left || h.lease.Err() != nil && !h.ends.After(time.Now()) {
			continue
		}
		if !s.has(t, h.lease) {
			t.Errorf("the server has no hold of %s, whose lease has %v", h.lease.Owner(), time.Until(h.ends))
		}
		s.looks++
	}
}

// has reports whether the server has a read hold.
func (s *scene) has(t *testing.T, lease *primitives.Lease) bool {
	t.Helper()
	return number(t, s.server, "HEXISTS", "x", lease.Owner()) == 1 &&
		number(t, s.server, "EXISTS", sideKey("x", lease)) == 1
}
