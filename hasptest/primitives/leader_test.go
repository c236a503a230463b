package primitives_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

// named is an election with a candidate of that ID, whose value is its address.
func (p *polity) named(id string) *primitives.Election {
	p.t.Helper()
	return p.client(p.t, nil).NewElection("x", &primitives.ElectionOptions{ID: id, Value: id + ":80\n2"})
}

// leads has e lead until the test calls what leads returns.
func (p *polity) leads(e *primitives.Election) (leave func()) {
	ctx, cancel := context.WithCancel(p.t.Context())
	left := make(chan error, 1)
	go func() {
		left <- e.Run(ctx, func(ctx context.Context, _ *primitives.Lease) error { <-ctx.Done(); return nil })
	}()
	synctest.Wait()
	return func() { cancel(); <-left }
}

// watch returns what an observer sees, as text: ids of leaders, and errors. The channel is closed at the end.
func watch(ctx context.Context, e *primitives.Election) <-chan string {
	seen := make(chan string, 100)
	go func() {
		defer close(seen)
		for leader, err := range e.Observe(ctx) {
			switch {
			case err == nil:
				seen <- leader.ID
			case errors.Is(err, primitives.ErrNoLeader):
				seen <- "none"
			default:
				seen <- err.Error()
			}
		}
	}()
	return seen
}

func TestLeaderOfAnElection(t *testing.T) {
	holdElections(t, func(t *testing.T, p *polity) {
		e := p.named("a")
		longest := &primitives.ElectionOptions{ID: "a", Value: strings.Repeat("b", 999)}
		for _, none := range []*primitives.Election{e, p.client(t, nil).NewElection("x", longest)} {
			require.ErrorIs(t, errOf(none.Leader(t.Context())), primitives.ErrNoLeader)
		}
		began := time.Now()
		leave := p.leads(e)
		time.Sleep(time.Hour)
		leader := must(p.named("b").Leader(t.Context()))(t)
		require.Equal(t, primitives.Leader{ID: "a", Value: "a:80\n2", Since: leader.Since, Owner: p.holder("x")}, leader)
		require.True(t, leader.Since.Equal(began.Truncate(time.Microsecond)))
		holder := must(p.client(t, nil).NewLock("x", nil).Holder(t.Context()))(t)
		want := primitives.Holder{Owner: leader.Owner, Metadata: "a\na:80\n2", Since: leader.Since}
		require.Equal(t, want, holder, "with an ID neither the host nor the process id")
		leave()
		_, err := e.Leader(t.Context())
		require.ErrorIs(t, err, primitives.ErrNoLeader)
		require.EqualError(t, err, `query election "x": there is no leader`)

		lease := must(p.client(t, nil).NewLock("x", nil).Lock(t.Context()))(t)
		leader = must(e.Leader(t.Context()))(t)
		require.Equal(t, primitives.Leader{Owner: lease.Owner()}, leader)
		require.NoError(t, lease.Release(t.Context()))

		client := p.client(t, nil)
		defer p.leads(client.NewElection("x", nil))()
		leader = must(e.Leader(t.Context()))(t)
		require.Equal(t, fmt.Sprintf("%s:%d:%s", must(os.Hostname())(t), os.Getpid(), client.Core().ID()), leader.ID)
		require.Empty(t, leader.Value)
	})
}

// TestObserve has two observers of one client and one of another, the last of which comes later.
func TestObserve(t *testing.T) {
	holdElections(t, func(t *testing.T, p *polity) {
		ctx, cancel := context.WithCancel(t.Context())
		observing := p.named("o")
		all := []<-chan string{watch(ctx, observing), watch(ctx, observing)}
		sees := func(within time.Duration, want string) {
			t.Helper()
			began := time.Now()
			for _, seen := range all {
				leader := <-seen
				if leader == "none" && want != leader {
					leader = <-seen // A poll may fall between the end of one leader and the next.
				}
				require.Equal(t, want, leader)
			}
			require.LessOrEqual(t, time.Since(began), within)
		}
		const poll, message = 5500 * time.Millisecond, 5 * time.Millisecond
		sees(0, "none")
		time.Sleep(time.Hour)
		a, b := p.named("a"), p.named("b")
		leaveA := p.leads(a)
		sees(message, "a")
		all = append(all, watch(ctx, p.named("c")))
		require.Equal(t, "a", <-all[2])
		leaveB := p.leads(b)
		time.Sleep(time.Hour)
		leaveA()
		sees(message, "b")
		leaveB()
		sees(poll, "none")
		p.leads(a)
		sees(message, "a")
		time.Sleep(time.Minute)
		cancel()
		for _, seen := range all {
			require.Equal(t, `observe election "x": context canceled`, <-seen)
			_, more := <-seen
			require.False(t, more)
		}
	})
}

// TestObserveThroughAnOutage begins in one, and has another later, in which a leader is lost.
func TestObserveThroughAnOutage(t *testing.T) {
	holdElections(t, func(t *testing.T, p *polity) {
		p.faults(down)
		begin, seen := time.Now(), watch(t.Context(), p.named("o"))
		for range 20 { // After each it pauses.
			require.Contains(t, <-seen, "no server available")
		}
		require.Greater(t, time.Since(begin), 5*time.Second)
		p.faults(fault{})
		require.Equal(t, "none", <-seen)
		a := p.named("a")
		p.leads(a)
		require.Equal(t, "a", <-seen)
		time.Sleep(time.Minute)
		p.faults(down)
		time.Sleep(time.Minute)
		require.False(t, a.IsLeader())
		require.Empty(t, seen)
		p.faults(fault{})
		for next := range seen { // There may be none in between.
			if next == "a" {
				break
			}
			require.Equal(t, "none", next)
		}
	})
}

// TestObserveEnds when the caller has seen enough, and at once when its client closes in an outage, in which it pauses.
func TestObserveEnds(t *testing.T) {
	holdElections(t, func(t *testing.T, p *polity) {
		client := p.client(t, nil)
		e := client.NewElection("x", nil)
		for _, err := range e.Observe(t.Context()) {
			require.ErrorIs(t, err, primitives.ErrNoLeader)
			break
		}
		seen := watch(t.Context(), e)
		require.Equal(t, "none", <-seen)
		p.faults(down)
		time.Sleep(time.Minute)
		for len(seen) > 0 {
			require.Contains(t, <-seen, "no server available")
		}
		began := time.Now()
		require.NoError(t, client.Close(t.Context()))
		require.Contains(t, <-seen, "client closed")
		require.Less(t, time.Since(began), 10*time.Millisecond)
		_, more := <-seen
		require.False(t, more)
	})
}
