package primitives_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// TestAdderClosesDuringSum closes the adder, or its client, while others do not answer.
func TestAdderClosesDuringSum(t *testing.T) {
	t.Parallel()
	for _, client := range []bool{false, true} {
		subtest(t, fmt.Sprint("Client", client), func(t *testing.T, s *server) {
			c := s.client(t, nil)
			a, stays := openAdder(t, c), openAdder(t, s.client(t, nil))
			mute := s.newOwnLink(t)
			silent := must(mute.Subscribe(t.Context(), "{x}:adder-topic", func(backend.Event) {}))(t)
			bounded := within(t, time.Hour)
			failed := beside(func() error { return errOf(a.Sum(bounded)) })
			time.Sleep(time.Second)
			start := time.Now()
			if client {
				require.NoError(t, c.Close(t.Context()))
			}
			require.NoError(t, a.Close())
			err := <-failed
			require.ErrorIs(t, err, primitives.ErrClosed)
			require.NotErrorIs(t, err, context.Canceled)
			require.Zero(t, time.Since(start))
			require.NoError(t, a.Close())
			a.Add(1)
			require.ErrorIs(t, errOf(a.Sum(t.Context())), primitives.ErrClosed)
			require.ErrorIs(t, a.Reset(t.Context()), primitives.ErrClosed)
			silent.Cancel()
			stays.Add(2)
			requireSum(t, 2, stays)
		})
	}
}

// TestAdderSubscribesWhileOpen: the first adder subscribes, the last one ends that and leaves nothing, and the next
// one begins again.
func TestAdderSubscribesWhileOpen(t *testing.T) {
	served(t, func(t *testing.T, s *server, c *primitives.Client) {
		for range 2 {
			a, b := openAdder(t, c), openAdder(t, c)
			require.Equal(t, 2, s.subscribed())
			require.NoError(t, a.Close())
			requireSum(t, 0, b)
			require.Equal(t, 2, s.subscribed(), "what waits for answers is unsubscribed at once")
			require.NoError(t, b.Close())
			require.Zero(t, s.subscribed())
		}
		closed := s.client(t, nil)
		require.NoError(t, closed.Close(t.Context()))
		require.ErrorIs(t, errOf(closed.OpenLongAdder(t.Context(), "x")), primitives.ErrClosed)
		require.Zero(t, s.subscribed())

		link := s.newOwnLink(t)
		left := weak.Make(link)
		c = must(primitives.New(link, nil))(t)
		require.NoError(t, openAdder(t, c).Close())
		require.NoError(t, c.Close(t.Context()))
		require.True(t, collected(left))
	})
}

// subscribing is a server to which a client subscribes in a way of its own.
type subscribing struct {
	*server
	by func(ctx context.Context, channel string, handler backend.Handler) (backend.Subscription, error)
}

func (s *subscribing) Subscribe(ctx context.Context, channel string, handler backend.Handler) (backend.Subscription, error) {
	return s.by(ctx, channel, handler)
}

// TestAdderAfterAPanic: an adder that could not be opened counts for nothing and leaves no subscription, and the next
// one can be opened.
func TestAdderAfterAPanic(t *testing.T) {
	t.Parallel()
	for at := range 2 { // The call that panics.
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t)
			c := s.over(t, &subscribing{s, func(ctx context.Context, channel string, handler backend.Handler) (backend.Subscription, error) {
				if at--; at == -1 {
					panic("hook")
				}
				return s.Subscribe(ctx, channel, handler)
			}}, nil)
			require.PanicsWithValue(t, "hook", func() { _, _ = c.OpenLongAdder(t.Context(), "x") })
			require.Zero(t, s.subscribed())
			a := openAdder(t, c)
			a.Increment()
			requireSum(t, 1, a)
			require.NoError(t, a.Close())
			require.Zero(t, s.subscribed(), "nobody else is open")
		})
	}
}

// TestAdderOpensTogether: several callers wait for the subscriptions. The caller that asks for them leaves, or its client
// is closed; another goes on.
func TestAdderOpensTogether(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		acknowledge := make(chan struct{})
		b := &subscribing{s, func(ctx context.Context, channel string, handler backend.Handler) (backend.Subscription, error) {
			select {
			case <-acknowledge:
				return s.Subscribe(ctx, channel, handler)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}}
		closes, stays := s.over(t, b, nil), s.over(t, b, nil)
		open := func(ctx context.Context, c *primitives.Client) <-chan error {
			done := beside(func() error { return errOf(c.OpenLongAdder(ctx, "x")) })
			synctest.Wait()
			return done
		}
		ctx, cancel := context.WithCancel(t.Context())
		leaves, ends := open(ctx, stays), open(t.Context(), closes)
		var all []<-chan error
		for range 3 {
			all = append(all, open(t.Context(), stays))
		}
		cancel()
		require.ErrorIs(t, <-leaves, context.Canceled)
		require.NoError(t, closes.Close(t.Context()))
		require.ErrorIs(t, <-ends, primitives.ErrClosed)
		close(acknowledge)
		for _, done := range all {
			require.NoError(t, <-done)
		}
		require.Equal(t, 2, s.subscribed())
	})
}

// limited is a backend that can do less than others, or cannot be compared.
type limited struct {
	*server
	can backend.Capabilities
	_   []int
}

func (l limited) Capabilities() backend.Capabilities { return l.can }

// TestAdderRefusals: what cannot work is refused, and nothing is sent.
func TestAdderRefusals(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		for says, b := range map[string]backend.Backend{
			"does not subscribe": &limited{server: s},
			"PUBLISH counts the receivers of one node": &limited{
				server: s, can: backend.Capabilities{Cluster: true, PubSub: true},
			},
			"primitives_test.limited cannot be compared": limited{
				server: s, can: backend.Capabilities{PubSub: true},
			},
		} {
			_, err := s.over(t, b, nil).OpenLongAdder(t.Context(), "x")
			require.ErrorIs(t, err, backend.ErrNotSupported)
			require.ErrorContains(t, err, `open long adder "x": not supported: `)
			require.ErrorContains(t, err, says)
		}
		c := s.client(t, nil)
		_, err := c.OpenDoubleAdder(t.Context(), "")
		var field *primitives.FieldError
		require.ErrorAs(t, err, &field)
		require.Equal(t, "name", field.Field)
		a := openAdder(t, c)
		require.Equal(t, "x", a.Name())
		_, err = s.client(t, nil).OpenDoubleAdder(t.Context(), "x")
		require.ErrorIs(t, err, primitives.ErrConflict)
		require.ErrorContains(t, err, "an adder of the other kind")
		require.Equal(t, 2, s.subscribed())
		require.NoError(t, a.Close())
		require.NoError(t, must(c.OpenDoubleAdder(t.Context(), "x"))(t).Close())
	})
}

// shards is a cluster of three primaries with a replica each, on one server.
type shards struct {
	*server
	mu      sync.Mutex
	stopped string         // the shard whose replica does not acknowledge
	waits   map[string]int // of renewals, by shard
}

// Capabilities implements backend.Backend.
func (*shards) Capabilities() backend.Capabilities {
	return backend.Capabilities{Cluster: true, PubSub: true}
}

// NodeOf implements backend.Locator.
func (*shards) NodeOf(key string) string { return fmt.Sprint(backend.Slot(key) * 3 / backend.Slots) }

// RunThenWait implements backend.ReplicaWaiter, for calls of one shard.
func (s *shards) RunThenWait(
	ctx context.Context, calls []backend.Call, replicas int, timeout time.Duration,
	report func(place int, outcome backend.Outcome),
) {
	shard := s.NodeOf(calls[0].Keys[0])
	s.mu.Lock()
	if calls[0].Script.Name == "lock_renew" {
		s.waits[shard]++
	}
	stopped := s.stopped == shard
	s.mu.Unlock()
	outcomes := make([]backend.Outcome, len(calls))
	for i, c := range calls {
		if outcomes[i].Acked = replicas; stopped || s.NodeOf(c.Keys[0]) != shard {
			outcomes[i].Acked = 0
		}
		outcomes[i].Reply, outcomes[i].Err = s.Run(ctx, c.Script, c.Keys, c.Args)
	}
	if time.Sleep(time.Millisecond); stopped {
		time.Sleep(timeout)
	}
	for i, o := range outcomes {
		report(i, o)
	}
}

// stop stops the replica of a shard, and returns how many WAITs of renewals the shards have had since the last call.
func (s *shards) stop(shard string) map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = shard
	waits := s.waits
	s.waits = map[string]int{}
	return waits
}

// TestStoppedReplicaCostsOtherShardsNothing has many leases in a cluster, and callers that try all the time, most of them
// on a shard whose replica stops for a third of the lease: no lease is lost, and 100 renewals share a WAIT.
func TestStoppedReplicaCostsOtherShardsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &shards{server: newServer(t), waits: map[string]int{}}
		c := s.over(t, s, &primitives.Options{Replicas: 1})
		var leases []*primitives.Lease
		count := map[string]int{}
		for i := range 600 {
			leases = append(leases, must(c.NewLock(fmt.Sprint(i), nil).Lock(t.Context()))(t))
			count[s.NodeOf(fmt.Sprint(i))]++
		}
		time.Sleep(9 * time.Second) // The next renewals are due in a second.
		s.stop("0")
		ctx, stop := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		for i := range 64 {
			l := c.NewLock(fmt.Sprint("caller", i), nil)
			callers.Go(func() {
				for ctx.Err() == nil {
					if lease, err := l.Lock(ctx); err == nil {
						_ = lease.Release(t.Context())
					}
					time.Sleep(time.Second)
				}
			})
		}
		time.Sleep(10 * time.Second)
		stop()
		callers.Wait()
		waits := s.stop("")
		for _, shard := range []string{"1", "2"} {
			require.GreaterOrEqual(t, waits[shard], count[shard]/100)
			require.LessOrEqual(t, waits[shard], count[shard]/100+10, "of %d", count[shard])
		}
		time.Sleep(time.Minute)
		for _, lease := range leases {
			require.NoError(t, lease.Err())
		}
	})
}
