package mutex

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// link is a link that takes up to two milliseconds each way, and that loses messages, and replies.
type link struct {
	cells.Runner
	messages, replies float64     // how many of them it loses
	deaf              func() bool // it loses all messages
	chance            *chance
}

// chance draws numbers of [0, 1), the same ones by the same seed.
type chance struct {
	mu   sync.Mutex
	from *rand.Rand
}

func newChance(seed int) *chance {
	return &chance{from: rand.New(rand.NewPCG(uint64(seed), 0))} //nolint:gosec // Not negative; faults.
}

func (c *chance) draw() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.from.Float64()
}

// upTo draws a time.
func (c *chance) upTo(most time.Duration) time.Duration {
	return time.Duration(c.draw() * float64(most))
}

// newLink returns a link to a server, whose faults follow from the seed.
func newLink(t *testing.T, server *embedded.Server, seed int, messages, replies float64) *link {
	t.Helper()
	b, err := embedded.New(server, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	l := &link{messages: messages, replies: replies, deaf: func() bool { return false }, chance: newChance(seed)}
	l.Backend, l.Instead = b, l.run
	return l
}

// run is [cells.Runner.Good] over the link. A reply that is lost is waited for 50 ms.
func (l *link) run(ctx context.Context, c backend.Call) (backend.Reply, error) {
	time.Sleep(l.chance.upTo(2 * time.Millisecond))
	reply, err := l.Good(context.WithoutCancel(ctx), c)
	time.Sleep(l.chance.upTo(2 * time.Millisecond))
	if l.chance.draw() >= l.replies {
		return reply, err
	}
	select {
	case <-time.After(50 * time.Millisecond):
		return backend.Reply{}, backend.ErrIndeterminate
	case <-ctx.Done():
		return backend.Reply{}, fmt.Errorf("%w: %w", backend.ErrIndeterminate, ctx.Err())
	}
}

// Subscribe implements [backend.Subscriber].
func (l *link) Subscribe(
	ctx context.Context, channel string, handler backend.Handler,
) (backend.Subscription, error) {
	return l.Runner.Subscribe(ctx, channel, func(e backend.Event) {
		if !l.deaf() && l.chance.draw() >= l.messages {
			handler(e)
		}
	})
}

// arrivals knows in which order callers were served, and who waited already when each of them came.
type arrivals struct {
	waiting func() []string // the owners in the queue

	noting sync.Mutex
	tokens map[string]int64   // of the owners that were granted the mutex
	before map[int64][]string // who waited when the owner came that was granted it by this token
}

// note notes a grant to a caller, and who waited when that came.
func (a *arrivals) note(lease *primitives.Lease, before []string) {
	a.noting.Lock()
	defer a.noting.Unlock()
	if a.tokens == nil {
		a.tokens, a.before = map[string]int64{}, map[int64][]string{}
	}
	a.tokens[lease.Owner()] = lease.Token()
	a.before[lease.Token()] = before
}

// requireOrder requires that each was served after all who waited when it came, but for those who gave up.
func (a *arrivals) requireOrder(t *testing.T) {
	t.Helper()
	for token, before := range a.before {
		for _, owner := range before {
			if earlier, granted := a.tokens[owner]; granted {
				require.Less(t, earlier, token, "%s waited already", owner)
			}
		}
	}
}

// section is what a mutex protects: it notes who believes to be in.
type section struct {
	arrivals
	turns  int // that each caller has
	leases []time.Duration

	mu     sync.Mutex
	inside *primitives.Lease
	last   int64
}

// stay is in for a while, and requires that nobody else is who believes in its lease.
func (s *section) stay(t *testing.T, lease *primitives.Lease, d time.Duration) {
	t.Helper()
	s.mu.Lock()
	if lease.Err() == nil {
		require.True(t, s.inside == nil || s.inside.Err() != nil, "two hold it")
		require.Greater(t, lease.Token(), s.last)
		s.inside, s.last = lease, lease.Token()
	}
	s.mu.Unlock()
	time.Sleep(d)
}

// leave is called before the release.
func (s *section) leave(lease *primitives.Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inside == lease {
		s.inside = nil
	}
}

// TestNeverTwo has 24 callers of 8 clients over links that lose messages and replies, of which some give up at
// any instant, the one of their grant included. In virtual time never two believe that they hold the mutex,
// tokens rise, nobody is served before one who waited already when it came, and in the end everybody was served,
// and nothing is left.
func TestNeverTwo(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	for title, lost := range map[string]struct{ messages, replies float64 }{
		"Nothing": {}, "Messages": {messages: 0.2}, "Replies": {replies: 0.05}, "Both": {0.2, 0.05},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			for seed := range 8 {
				synctest.Test(t, func(t *testing.T) { playMutex(t, seed, lost.messages, lost.replies) })
			}
		})
	}
}

func playMutex(t *testing.T, seed int, messages, replies float64) {
	t.Helper()
	server := embedded.NewServer()
	in := &section{turns: 10, leases: []time.Duration{0, 3 * time.Second}}
	in.waiting = func() []string { return textsOf(t, server, "ZRANGE", queue, "0", "-1") }
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for i := range 8 {
		client := cells.Over(t, newLink(t, server, seed+8*i, messages, replies), &primitives.Options{
			WatchdogLease: 2 * time.Second, PollInterval: 500 * time.Millisecond,
		})
		for caller := range 3 {
			all.Go(func() { useMutex(ctx, t, client, in, newChance(seed+8*(3*i+caller)), i%2 == 0) })
		}
	}
	all.Wait()
	require.NoError(t, ctx.Err(), "not all have had their turns")
	in.requireOrder(t)
	time.Sleep(30 * time.Second) // What was lost is looked for.
	require.Zero(t, numberOf(t, server, "EXISTS", key, queue, signs))
}

// numberOf sends a command, and returns the number that it replies.
func numberOf(t *testing.T, server *embedded.Server, words ...string) int {
	t.Helper()
	reply, err := server.Do(words...)
	require.NoError(t, err)
	n, err := reply.Int()
	require.NoError(t, err)
	return int(n)
}

// textsOf sends a command, and returns the texts that it replies.
func textsOf(t *testing.T, server *embedded.Server, words ...string) (all []string) {
	t.Helper()
	reply, err := server.Do(words...)
	require.NoError(t, err)
	items, err := reply.Items()
	require.NoError(t, err)
	for _, item := range items {
		text, err := item.Text()
		require.NoError(t, err)
		all = append(all, text)
	}
	return all
}

// useMutex takes the mutex until it has had all its turns, or ctx ends. Who is not patient gives up now and then,
// and comes again.
func useMutex(
	ctx context.Context, t *testing.T, client *primitives.Client, in *section, chance *chance, patient bool,
) {
	t.Helper()
	m := client.NewMutex(name, &primitives.LockOptions{Lease: in.leases[int(2*chance.draw())]})
	for had := 0; had < in.turns && ctx.Err() == nil; {
		waiting, cancel := ctx, context.CancelFunc(func() {})
		if !patient {
			waiting, cancel = context.WithTimeout(ctx, chance.upTo(200*time.Millisecond))
		}
		before := in.waiting()
		lease, err := m.Lock(waiting)
		cancel()
		if err != nil {
			continue
		}
		in.note(lease, before)
		in.stay(t, lease, chance.upTo(10*time.Millisecond))
		in.leave(lease)
		_ = lease.Release(t.Context())
		had++
	}
}
