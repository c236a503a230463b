package primitives_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// fakeServer does in Go what the lock's scripts do in Lua, for tests in virtual time of what
// happens around them: latency, lost replies, scripts that run late. The scripts themselves are
// tested on servers, by package conformance.
type fakeServer struct {
	mu        sync.Mutex
	locks     map[string]fakeLock
	described map[string]string // what holders stored, by key
	tokens    map[string]int64
	permits   map[string]int
	queues    map[string][]string // of fair locks
	ids       map[string]int64    // how many were taken; and the sizes of blocks
	numbers   map[string]float64  // latches, atomic longs and doubles

	readWriteLocks map[string]*fakeReadWriteLock
	counting       map[string]*fakeCounting
	rates          map[string]*fakeRate
	adderRequests  map[string]*fakeAdderRequest // by the key of the semaphore

	leased map[string]time.Time // the ends of leases, by id; of the one permit semaphore, which has 3 permits

	handlers map[*fakeSubscription]string
	calls    map[string]int // by script
	freed    time.Time      // when a lock was last freed
	idle     time.Duration  // how long the lock was free before its last grant

	// fault returns the fault of a call of the given script; nil: there are none.
	fault func(script string) fault

	// acks is what replicas answer to a WAIT.
	acks func(replicas int, timeout time.Duration) acks

	// seen is shown every call, if it is not nil.
	seen func(script string, keys, args []string)
}

type fakeLock struct {
	owner   string
	expires time.Time
}

// fault is what a link does to one call.
type fault struct {
	before, after time.Duration // on the way to the server, and back
	lost          bool          // the reply never comes
	broken        bool          // the connection breaks instead of the reply
	early         bool          // it breaks at once, and the call arrives all the same
	panics        bool          // a hook of the driver does
	err           error         // the server's reply
}

type fakeSubscription struct {
	server  *fakeServer
	handler backend.Handler
	link    *fakeLink // nil: that of the server itself
}

func newFakeServer() *fakeServer {
	return &fakeServer{
		locks: make(map[string]fakeLock), described: make(map[string]string), tokens: make(map[string]int64),
		permits: make(map[string]int), queues: make(map[string][]string), ids: make(map[string]int64),
		numbers:        make(map[string]float64),
		readWriteLocks: make(map[string]*fakeReadWriteLock), counting: make(map[string]*fakeCounting),
		rates: make(map[string]*fakeRate), leased: make(map[string]time.Time),
		adderRequests: make(map[string]*fakeAdderRequest),
		handlers:      make(map[*fakeSubscription]string), calls: make(map[string]int),
		fault: func(string) fault { return fault{} }, acks: allAck,
	}
}

// client returns a client that is closed with the test, after which nothing may be under way.
func (s *fakeServer) client(t *testing.T, opts *primitives.Options) *primitives.Client {
	t.Helper()
	return s.over(t, s, opts)
}

// over is client for a backend on the server.
func (s *fakeServer) over(t *testing.T, b backend.Backend, o *primitives.Options) *primitives.Client {
	t.Helper()
	c, err := primitives.New(b, o)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, c.Close(context.Background()))
		time.Sleep(time.Hour) // What is under way arrives.
	})
	return c
}

// set changes what others may be reading.
func (s *fakeServer) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// called returns how often the script of that name was sent.
func (s *fakeServer) called(script string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[script]
}

// holder returns who holds the lock of that key.
func (s *fakeServer) holder(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live(key).owner
}

func (s *fakeServer) subscribed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.handlers)
}

// Run implements backend.ScriptRunner.
func (s *fakeServer) Run(
	ctx context.Context, script *backend.Script, keys, args []string,
) (backend.Reply, error) {
	s.mu.Lock()
	s.calls[script.Name]++
	if s.seen != nil {
		s.seen(script.Name, keys, args)
	}
	f := s.fault(script.Name)
	s.mu.Unlock()
	if f.panics {
		panic("hook")
	}
	keys, args = slices.Clone(keys), slices.Clone(args)
	replies := make(chan backend.Reply, 1)
	go func() {
		time.Sleep(f.before)
		if f.err == nil {
			replies <- s.execute(script.Name, keys, args)
		}
	}()
	timer := time.NewTimer(f.before + f.after)
	defer timer.Stop()
	if f.lost {
		timer.Stop()
	}
	if f.early {
		return backend.Reply{}, s.unknown(script, errors.New("connection reset"))
	}
	select {
	case <-timer.C:
	case <-ctx.Done():
		return backend.Reply{}, s.unknown(script, ctx.Err())
	}
	switch {
	case f.err != nil:
		return backend.Reply{}, f.err
	case f.broken:
		return backend.Reply{}, s.unknown(script, errors.New("connection reset"))
	}
	return <-replies, nil
}

func (s *fakeServer) unknown(script *backend.Script, err error) error {
	if script.Retry.Writes() {
		return backend.Indeterminate(err)
	}
	return err
}

func (s *fakeServer) execute(script string, keys, args []string) backend.Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if reply, known := s.holderScript(script, keys, args); known {
		return reply
	}
	if reply, known := s.readWrite(script, keys, args); known {
		return reply
	}
	if reply, known := s.countingScript(script, keys, args); known {
		return reply
	}
	if reply, known := s.adder(script, keys, args); known {
		return reply
	}
	if reply, known := s.numberScript(script, keys, args); known {
		return reply
	}
	switch script {
	case "lock_acquire":
		token, left := s.acquire(keys[0], keys[1], args[0], args[1])
		if token == "" {
			return backend.IntegerReply(-2 - left)
		}
		return backend.StringReply(token)
	case "lock_release":
		heard := 1 + s.listeners(args[2])
		released := s.release(keys[0], args[2], func(l fakeLock) bool { return l.owner == args[0] })
		if yes, _ := released.Bool(); !yes {
			heard = 0
		}
		return backend.IntegerReply(heard)
	case "mutex_acquire": // Nobody waits.
		token, left := s.acquire(keys[0], keys[1], args[0], args[1])
		return backend.StringReply(cmp.Or(token, strconv.FormatInt(left, 10)+" 0"))
	case "spin_release", "mutex_release":
		return s.release(keys[0], "", func(l fakeLock) bool { return l.owner == args[0] })
	case "lock_release_all":
		return s.releaseAll(keys, args[1:])
	case "lock_force_release":
		return s.release(keys[0], args[1], func(l fakeLock) bool { return l.owner != "" })
	case "fair_acquire":
		return s.fairAcquire(keys, args)
	case "fair_release":
		return s.fairRelease(keys, args[0], args[2])
	case "fair_release_all":
		return s.fairReleaseAll(keys, args[1:])
	case "lock_renew", "mutex_renew":
		return s.renew(keys, args[0], args[1:])
	case "lock_exists":
		return truth(s.live(keys[0]).owner != "")
	case "lock_last_token":
		return backend.IntegerReply(s.tokens[keys[1]])
	case "lock_held_by":
		return truth(s.live(keys[0]).owner == args[0])
	case "permit_acquire":
		return s.lendPermits(args[0], args[1])
	case "permit_release":
		return s.returnPermits(args[0], args[3])
	case "permit_release_all":
		return s.returnAll(args[1:])
	case "permit_renew":
		return s.renewPermits(args[0], args[1:])
	case "rate_acquire":
		return s.rateAcquire(keys[0], args)
	case "rate_release":
		return s.rateRelease(keys[0], args)
	case "rights_missing":
		return backend.ArrayReply(nil)
	case "object_kind":
		return backend.StringReply("list")
	}
	panic("unknown script " + script)
}

func (s *fakeServer) live(key string) fakeLock {
	if l := s.locks[key]; time.Now().Before(l.expires) {
		return l
	}
	return fakeLock{}
}

// acquire returns the token of a grant, or "" and how many milliseconds the holder's lease still has.
func (s *fakeServer) acquire(key, token, owner, lease string) (grant string, left int64) {
	if l := s.live(key); l.owner != "" {
		return "", time.Until(l.expires).Milliseconds()
	}
	s.idle = time.Since(s.freed)
	s.tokens[token] = max(s.tokens[token]+1, time.Now().UnixMicro())
	s.locks[key] = fakeLock{owner, time.Now().Add(milliseconds(lease))}
	return strconv.FormatInt(s.tokens[token], 10), 0
}

func (s *fakeServer) release(key, channel string, mine func(fakeLock) bool) backend.Reply {
	if !mine(s.live(key)) {
		return truth(false)
	}
	delete(s.locks, key)
	s.freed = time.Now()
	s.publish(channel, "0")
	return truth(true)
}

// publish sends a message to those who have subscribed.
func (s *fakeServer) publish(channel, payload string) {
	handlers := maps.Clone(s.handlers)
	go func() {
		time.Sleep(time.Millisecond)
		for sub, name := range handlers {
			if name == channel {
				sub.handler(backend.Event{Payload: payload})
			}
		}
	}()
}

// listeners returns how many have subscribed to a channel.
func (s *fakeServer) listeners(channel string) (n int64) {
	for _, name := range s.handlers {
		if name == channel {
			n++
		}
	}
	return n
}

func (s *fakeServer) releaseAll(keys, args []string) backend.Reply {
	statuses := make([]backend.Reply, len(keys))
	for i, key := range keys {
		owner, channel := args[i], args[len(keys)+i]
		statuses[i] = s.release(key, channel, func(l fakeLock) bool { return l.owner == owner })
	}
	return backend.ArrayReply(statuses)
}

func (s *fakeServer) renew(keys []string, lease string, owners []string) backend.Reply {
	statuses := make([]backend.Reply, len(keys))
	for i, key := range keys {
		held := s.live(key).owner == owners[i]
		if held {
			s.locks[key] = fakeLock{owners[i], time.Now().Add(milliseconds(lease))}
		}
		statuses[i] = truth(held)
	}
	return backend.ArrayReply(statuses)
}

func truth(b bool) backend.Reply {
	if b {
		return backend.IntegerReply(1)
	}
	return backend.IntegerReply(0)
}

func milliseconds(text string) time.Duration {
	d, err := time.ParseDuration(text + "ms") // It may not fit an int of 32 bits.
	if err != nil {
		panic(err)
	}
	return d
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

// Subscribe implements backend.Subscriber.
func (s *fakeServer) Subscribe(
	_ context.Context, channel string, handler backend.Handler,
) (backend.Subscription, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := &fakeSubscription{server: s, handler: handler}
	s.handlers[sub] = channel
	return sub, nil
}

func (sub *fakeSubscription) Cancel() {
	sub.server.mu.Lock()
	defer sub.server.mu.Unlock()
	delete(sub.server.handlers, sub)
}

func (s *fakeServer) Capabilities() backend.Capabilities {
	return backend.Capabilities{PubSub: true}
}

func (s *fakeServer) Close() error { return nil }
