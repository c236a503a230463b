package hasptest

import (
	"context"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/extend"
)

// mutexKey begins the name of the key that a primitives.Mutex has on the server.
const mutexKey = "hasp_mutex"

// closeTimeout bounds the releases at the end of a test: a test may end while its server loses answers.
const closeTimeout = 5 * time.Second

// TB is what a [Server] needs of a test: a *testing.T, *testing.B or *rapid.T.
type TB interface {
	Helper()
	Cleanup(end func())
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Server is a server inside the process, with the faults between it and its clients. All methods are
// safe for concurrent use.
type Server struct {
	tb       TB
	embedded *embedded.Server

	mu       sync.Mutex
	backends map[*Backend]struct{} // that are open
	clients  map[*primitives.Client]*Backend
	plans    []plan        // of the next requests
	latency  time.Duration // of a request and its answer
	outage   chan struct{} // closed at its end; nil: the server can be reached
	backAt   time.Time     // when the outage ends
	back     *time.Timer
}

// New returns an empty server without faults. It needs no closing. At the end of the test all its
// clients and backends are closed, and with them what they still hold is released.
func New(tb TB) *Server {
	tb.Helper()
	s := &Server{tb: tb, embedded: embedded.NewServer(), backends: map[*Backend]struct{}{}, clients: map[*primitives.Client]*Backend{}}
	tb.Cleanup(s.endOutage) // for its timer
	return s
}

// Embedded returns the server itself, without faults: to look at what is stored, to prepare it, to move
// its clock, or for a backend that faults must not concern.
func (s *Server) Embedded() *embedded.Server { return s.embedded }

// Backend returns a backend that is a new client of the server, as a process of its own is. It is closed
// at the end of the test.
func (s *Server) Backend() *Backend {
	s.tb.Helper()
	inner, err := embedded.New(s.embedded, nil)
	if err != nil {
		s.tb.Fatalf("hasptest: %v", err)
	}
	b := &Backend{
		inner: inner, server: s,
		closed: make(chan struct{}), subscriptions: map[*subscription]struct{}{},
	}
	s.mu.Lock()
	s.backends[b] = struct{}{}
	s.mu.Unlock()
	s.tb.Cleanup(func() { _ = b.Close() })
	return b
}

// Client returns a client over a backend of its own, as a process of its own has it. Nil options are the
// defaults; bad ones fail the test, which ends. It is closed at the end of the test. Then an outage of
// [Server.Away] ends, too.
func (s *Server) Client(opts *primitives.Options) *primitives.Client {
	s.tb.Helper()
	b := s.Backend()
	client, err := primitives.New(b, opts)
	if err != nil {
		s.tb.Fatalf("hasptest: %v", err)
	}
	s.mu.Lock()
	s.clients[client] = b
	s.mu.Unlock()
	s.tb.Cleanup(func() {
		s.endOutage()
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if err := client.Close(ctx); err != nil && !b.isClosed() {
			s.tb.Logf("hasptest: %v", err) // The code under test may have closed it, in an outage.
		}
	})
	return client
}

// Lose takes the lock called name away from its holder: the key is deleted, as an operator might do.
// If the client has a KeyPrefix, name has it in front. If there is no such key the test fails, and goes
// on. It works for locks of all kinds, a ReadWriteLock with all its readers, and for counting semaphores
// with all their holders. A permit semaphore is deleted, with its permits.
//
// The holder learns of it by its next renewal, up to a third of its lease later, or by Release. Its
// contexts end with the cause primitives.ErrLost, and Release returns an error that wraps
// primitives.ErrNotHeld and primitives.ErrLost. A fixed lease is not renewed: its holder learns of the
// loss at the lease's end, or by Release.
//
// Nobody is woken, but the lock is free at once: others may acquire it before the holder learns of the
// loss, as after any deletion. Waiters acquire it at their next poll, up to a PollInterval
// later. To lose a lock that nobody else can have before the holder knows, call Revoke of
// [Server.Embedded]; to have waiters woken, call ForceUnlock of the lock.
func (s *Server) Lose(name string) {
	s.tb.Helper()
	if !s.TryLose(name) {
		s.tb.Errorf("hasptest: lose %q: nobody holds it", name)
	}
}

// TryLose is [Server.Lose] for a test that cannot know whether somebody holds the lock, as one that draws what it does:
// it reports whether there was such a key.
func (s *Server) TryLose(name string) bool {
	reply, _ := s.embedded.Do("DEL", name, extend.SideName(mutexKey, name)) // It has no error.
	deleted, _ := reply.Int()
	return deleted > 0
}
