package barrier_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	barrier "github.com/hasp-go/hasp/examples/ownprimitive"
	"github.com/hasp-go/hasp/primitives"
)

// lease is the lease of the members in virtual time.
const lease = 30 * time.Second

// process is a client of its own on a server. Its link breaks at will.
type process struct {
	*primitives.Client
	link *link
}

// link is a backend that loses what it should.
type link struct {
	backend.Backend
	down  atomic.Bool  // nothing goes through
	loses atomic.Value // the name of a script whose replies are lost
	after func()       // is called when a script was executed, before its reply

	denied atomic.Bool // scripts for many members may not look at the key
}

// unread is put before a script: the server refuses what may be refused.
const unread = `local real = redis; local redis = {}; for k, v in pairs(real) do redis[k] = v end; ` +
	`redis.pcall = function() return {err = 'NOPERM WRONGTYPE may not be said'} end; `

func (l *link) Run(
	ctx context.Context, script *backend.Script, keys, args []string,
) (backend.Reply, error) {
	if l.down.Load() {
		return backend.Reply{}, backend.ErrUnavailable
	}
	if l.denied.Load() && (script.Name == "renew" || script.Name == "leave_all") {
		script = backend.NewScript(script.Name, unread+script.Source, script.Keys, script.Retry)
	}
	reply, err := l.Backend.Run(ctx, script, keys, args)
	if l.after != nil {
		l.after()
	}
	if l.loses.Load() == script.Name {
		return backend.Reply{}, backend.Indeterminate(errors.New("EOF"))
	}
	return reply, err
}

// start starts a process that ends with the test. Its waiters hear messages, or wait for an hour.
func start(t *testing.T, server *embedded.Server) *process {
	t.Helper()
	b, err := embedded.New(server, nil)
	require.NoError(t, err)
	l := &link{Backend: b}
	client, err := primitives.New(l, &primitives.Options{WatchdogLease: lease, PollInterval: time.Hour})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, client.Close(context.Background()))
		require.NoError(t, b.Close())
	})
	return &process{client, l}
}

// await begins an Await, and returns where its error will be.
func (p *process) await(ctx context.Context, parties int) chan error {
	got := make(chan error, 1)
	go func() { got <- barrier.New(p.Client, "x", parties).Await(ctx) }()
	synctest.Wait()
	return got
}

// waiting is how many members wait.
func (p *process) waiting(t *testing.T) int {
	t.Helper()
	n, err := barrier.New(p.Client, "x", 1).Waiting(context.Background())
	require.NoError(t, err)
	return n
}

// TestAwaitPassesWhenAllHaveArrived has the parties come one after the other.
func TestAwaitPassesWhenAllHaveArrived(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := embedded.NewServer()
		var got []chan error
		for i := range 3 {
			p := start(t, server)
			require.Equal(t, i, p.waiting(t))
			for _, earlier := range got {
				require.Empty(t, earlier)
			}
			got = append(got, p.await(t.Context(), 3))
			time.Sleep(10 * lease) // The watchdog renews.
		}
		for _, err := range got {
			require.NoError(t, <-err)
		}
		require.Zero(t, start(t, server).waiting(t))
	})
}

// TestAwaitIsWokenAtOnce: the messages of the last arrival wake all, on each client.
func TestAwaitIsWokenAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := embedded.NewServer()
		one, two := start(t, server), start(t, server)
		got := []chan error{one.await(t.Context(), 4), one.await(t.Context(), 4), two.await(t.Context(), 4)}
		time.Sleep(time.Minute)
		last := time.Now()
		got = append(got, two.await(t.Context(), 4))
		for _, err := range got {
			require.NoError(t, <-err)
		}
		require.Less(t, time.Since(last), time.Second)
	})
}

// TestAwaitOfOne waits for nobody.
func TestAwaitOfOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := start(t, embedded.NewServer())
		for range 3 {
			require.NoError(t, <-p.await(t.Context(), 1))
		}
	})
}

// TestCrashedMemberDoesNotCount cuts off one of three members. A second member waits on, for two more;
// the one that was cut off learns that it lost its place, and that it may have counted.
func TestCrashedMemberDoesNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := embedded.NewServer()
		crashes, waits := start(t, server), start(t, server)
		lost, first := crashes.await(t.Context(), 3), waits.await(t.Context(), 3)
		require.Equal(t, 2, waits.waiting(t))
		crashes.link.down.Store(true)
		time.Sleep(lease)
		err := <-lost
		require.ErrorIs(t, err, primitives.ErrLost)
		require.ErrorIs(t, err, primitives.ErrIndeterminate)
		require.Equal(t, 1, waits.waiting(t))

		second := start(t, server).await(t.Context(), 3)
		time.Sleep(time.Minute)
		require.Empty(t, first)
		require.Empty(t, second)
		require.NoError(t, <-start(t, server).await(t.Context(), 3))
		require.NoError(t, <-first)
		require.NoError(t, <-second)
	})
}

// TestCrashedMemberCountsWhileItsLeaseRuns: nobody can distinguish it from a slow member.
func TestCrashedMemberCountsWhileItsLeaseRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := embedded.NewServer()
		crashes := start(t, server)
		passed := crashes.await(t.Context(), 2)
		crashes.link.down.Store(true)
		require.NoError(t, <-start(t, server).await(t.Context(), 2))
		crashes.link.down.Store(false) // It was slow.
		require.NoError(t, <-passed)
	})
}

// TestCancelledAwaitLeavesNoArrival: the next two pass together, and neither with it.
func TestCancelledAwaitLeavesNoArrival(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := start(t, embedded.NewServer())
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		got := p.await(ctx, 2)
		cancel(gone)
		err := <-got
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, gone)
		require.NotErrorIs(t, err, primitives.ErrIndeterminate)
		require.ErrorContains(t, err, `await barrier "x": `)
		require.Zero(t, p.waiting(t))
		next := p.await(t.Context(), 2)
		time.Sleep(time.Minute)
		require.Empty(t, next)
		require.NoError(t, <-p.await(t.Context(), 2))
		require.NoError(t, <-next)
	})
}

// TestCancelledAwaitWithoutAServer does not know what became of its arrival.
func TestCancelledAwaitWithoutAServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := start(t, embedded.NewServer())
		ctx, cancel := context.WithCancel(t.Context())
		got := p.await(ctx, 2)
		p.link.down.Store(true)
		cancel()
		err := <-got
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, primitives.ErrIndeterminate)
		p.link.down.Store(false)
		time.Sleep(time.Second) // It leaves in the background.
		require.Zero(t, p.waiting(t))
	})
}

// TestLostReplyOfAnArrival: the member leaves in the background, and is not counted then.
func TestLostReplyOfAnArrival(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := start(t, embedded.NewServer())
		p.link.loses.Store("arrive")
		require.ErrorIs(t, <-p.await(t.Context(), 2), primitives.ErrIndeterminate)
		p.link.loses.Store("")
		time.Sleep(time.Second)
		require.Zero(t, p.waiting(t))
	})
}

// TestLostReplyOfALastArrival: the others have passed with a member that cannot know.
func TestLostReplyOfALastArrival(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := embedded.NewServer()
		first, loses := start(t, server).await(t.Context(), 2), start(t, server)
		loses.link.loses.Store("arrive")
		require.ErrorIs(t, <-loses.await(t.Context(), 2), primitives.ErrIndeterminate)
		require.NoError(t, <-first)
	})
}

// TestArrivalRacesWithItsContext: the reply comes in the instant in which ctx ends. The member has let
// all pass, or is about to leave: its caller cannot say which.
func TestArrivalRacesWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := start(t, embedded.NewServer())
		for range 50 {
			ctx, cancel := context.WithCancel(t.Context())
			p.link.after = cancel
			err := barrier.New(p.Client, "x", 1).Await(ctx)
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, primitives.ErrIndeterminate)
			synctest.Wait()
			p.link.after = nil
		}
	})
}

// TestCloseMakesMembersLeave closes a client whose member waits.
func TestCloseMakesMembersLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := embedded.NewServer()
		closes, other := start(t, server), start(t, server)
		got := closes.await(t.Context(), 2)
		require.Equal(t, 1, other.waiting(t))
		require.NoError(t, closes.Close(t.Context()))
		err := <-got
		require.ErrorIs(t, err, primitives.ErrClosed)
		require.NotErrorIs(t, err, primitives.ErrIndeterminate)
		require.Zero(t, other.waiting(t))
		require.ErrorIs(t, <-closes.await(t.Context(), 2), primitives.ErrClosed)
	})
}

// TestAwaitInvalid sends nothing.
func TestAwaitInvalid(t *testing.T) {
	t.Parallel()
	p := start(t, embedded.NewServer())
	var field *primitives.FieldError
	require.ErrorAs(t, barrier.New(p.Client, "", 2).Await(t.Context()), &field)
	require.Equal(t, "name", field.Field)
	require.ErrorAs(t, barrier.New(p.Client, "x", 0).Await(t.Context()), &field)
	require.Equal(t, "parties", field.Field)
}

// TestBarrierOverSomethingElse touches nothing.
func TestBarrierOverSomethingElse(t *testing.T) {
	t.Parallel()
	server := embedded.NewServer()
	p := start(t, server)
	_, err := server.Do("SET", "x", "text")
	require.NoError(t, err)
	err = barrier.New(p.Client, "x", 2).Await(t.Context())
	require.ErrorIs(t, err, primitives.ErrConflict)
	require.ErrorContains(t, err, "of this barrier holds a string")
}

// TestMemberThatMayNotBeLookedAtWaitsOn: a renewal that the server refuses for a moment says nothing of the member.
func TestMemberThatMayNotBeLookedAtWaitsOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := start(t, embedded.NewServer())
		first := p.await(t.Context(), 2)
		p.link.denied.Store(true)
		time.Sleep(lease / 2)
		p.link.denied.Store(false)
		time.Sleep(lease)
		require.Empty(t, first)
		require.NoError(t, <-p.await(t.Context(), 2))
		require.NoError(t, <-first)
	})
}

// TestNumberIsKeptWhileMembersWait: the key outlives any wait, and is gone an hour after the last.
func TestNumberIsKeptWhileMembersWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := embedded.NewServer()
		p := start(t, server)
		first := p.await(t.Context(), 2)
		time.Sleep(24 * time.Hour)
		require.NoError(t, <-p.await(t.Context(), 2))
		require.NoError(t, <-first)
		for _, exists := range []int64{1, 0} {
			time.Sleep(59 * time.Minute)
			n, err := server.Do("EXISTS", "x")
			require.NoError(t, err)
			require.Equal(t, backend.IntegerReply(exists), n)
		}
	})
}

// TestBarrierIsUsedAgain has four workers on two clients.
func TestBarrierIsUsedAgain(t *testing.T) {
	t.Parallel()
	server := embedded.NewServer()
	one, two := start(t, server), start(t, server)
	var barriers []*barrier.Barrier
	for _, p := range []*process{one, two, one, two} {
		barriers = append(barriers, barrier.New(p.Client, "x", 4))
	}
	useAgain(t, barriers)
	state, err := server.Do("HGETALL", "x")
	require.NoError(t, err)
	require.Equal(t, []string{"generation", fmt.Sprint(rounds + 1)}, texts(t, state))
}

const rounds = 20

// useAgain has a worker for each party, which go through all rounds together: a worker that passes sees that all
// have come. When one fails the others give up.
func useAgain(t *testing.T, barriers []*barrier.Barrier) {
	t.Helper()
	var came [rounds]atomic.Int64
	ctx, giveUp := context.WithTimeout(t.Context(), time.Minute)
	defer giveUp()
	var all sync.WaitGroup
	for _, b := range barriers {
		all.Go(func() {
			for round := range rounds {
				came[round].Add(1)
				if err := b.Await(ctx); err != nil {
					t.Error(err)
					giveUp()
					return
				}
				if n := came[round].Load(); n != int64(len(barriers)) {
					t.Errorf("passed round %d when %d had come", round, n)
				}
			}
		})
	}
	all.Wait()
}

// TestAwaitAmidCancellations has members come and leave at random. Each generation that is over has let
// as many pass as there are parties; those whose outcome is unknown may be among them.
func TestAwaitAmidCancellations(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			server := embedded.NewServer()
			clients := []*process{start(t, server), start(t, server)}
			passed, unknown := comeAndGo(t, clients, rand.New(rand.NewPCG(seed, 0))) //nolint:gosec // A schedule.
			time.Sleep(time.Second)
			require.Zero(t, clients[0].waiting(t))
			reply, err := server.Do("HGET", "x", "generation")
			require.NoError(t, err)
			generation, err := reply.Int()
			require.NoError(t, err)
			over := 3 * (generation - 1)
			require.LessOrEqual(t, passed, over)
			require.GreaterOrEqual(t, passed+unknown, over)
			require.NotZero(t, over)
		})
	}
}

// comeAndGo has 60 members of a barrier for three come at random, and give up if they wait for long.
func comeAndGo(t *testing.T, clients []*process, rng *rand.Rand) (passed, unknown int64) {
	t.Helper()
	var nils, unknowns atomic.Int64
	var all sync.WaitGroup
	for i := range 60 {
		begin := time.Duration(rng.IntN(100)) * time.Millisecond
		limit := time.Duration(rng.IntN(20)) * time.Millisecond
		b := barrier.New(clients[i%2].Client, "x", 3)
		all.Go(func() {
			time.Sleep(begin)
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			switch err := b.Await(ctx); {
			case err == nil:
				nils.Add(1)
			case errors.Is(err, primitives.ErrIndeterminate):
				unknowns.Add(1)
			case !errors.Is(err, context.DeadlineExceeded):
				t.Error(err)
			}
		})
	}
	all.Wait()
	return nils.Load(), unknowns.Load()
}

func texts(t *testing.T, reply backend.Reply) (out []string) {
	t.Helper()
	items, err := reply.Items()
	require.NoError(t, err)
	for _, item := range items {
		text, err := item.Text()
		require.NoError(t, err)
		out = append(out, text)
	}
	return out
}
