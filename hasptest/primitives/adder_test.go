package primitives_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// openAdder returns the adder called x of a client.
func openAdder(t *testing.T, c *primitives.Client) *primitives.LongAdder {
	t.Helper()
	return must(c.OpenLongAdder(t.Context(), "x"))(t)
}

// requireSum asks for the sum.
func requireSum(t *testing.T, want int64, a *primitives.LongAdder) {
	t.Helper()
	require.Equal(t, want, must(a.Sum(within(t, time.Minute)))(t))
}

// TestAddersOfOneBackendAnswerOnce has adders of two clients over one backend, and of a third over another.
func TestAddersOfOneBackendAnswerOnce(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		one, two := s.client(t, nil), s.client(t, nil)
		third := s.over(t, s.newOwnLink(t), nil)
		all := []*primitives.LongAdder{openAdder(t, one), openAdder(t, one), openAdder(t, two), openAdder(t, third)}
		for i, a := range all {
			a.Add(int64(1) << (4 * i))
		}
		for i, a := range all {
			requireSum(t, 0x1111, a)
			require.Equal(t, 4*(i+1), s.called("adder_answer"))
		}
		require.NoError(t, all[3].Close())
		synctest.Wait() // Until its link has unsubscribed: a request that counts it is asked again, and leaves its keys.
		requireSum(t, 0x111, all[0])
		require.NoError(t, one.Close(t.Context()))
		requireSum(t, 0x100, all[2])
		require.Empty(t, s.requests())
	})
}

// TestAdderCountsItselfWithoutALink: who asks while its link is being restored is not asked itself. Its own
// adders count all the same, and others that are left out do not.
func TestAdderCountsItselfWithoutALink(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		link := s.newOwnLink(t)
		one, two := openAdder(t, s.client(t, nil)), openAdder(t, s.over(t, link, nil))
		one.Add(6)
		two.Add(1)
		link.cut()
		requireSum(t, 7, two)
		requireSum(t, 6, one)
		require.NoError(t, two.Reset(t.Context()))
		link.heal(t)
		requireSum(t, 0, one)
	})
}

// TestAdderSaysHowManyHaveAnswered: one of three does not answer until the context ends.
func TestAdderSaysHowManyHaveAnswered(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		a := openAdder(t, s.client(t, nil))
		openAdder(t, s.over(t, s.newOwnLink(t), nil))
		mute := s.newOwnLink(t)
		_, err := mute.Subscribe(t.Context(), "{x}:adder-topic", func(backend.Event) {})
		require.NoError(t, err)
		for _, ask := range []func(context.Context) error{
			func(ctx context.Context) error { _, err := a.Sum(ctx); return err }, a.Reset,
		} {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("enough"))
			defer cancel()
			start := time.Now()
			err = ask(ctx)
			require.Equal(t, time.Minute, time.Since(start))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, `long adder "x": 4 of 5 have answered`)
			require.ErrorContains(t, err, "enough")
			var unanswered *primitives.UnansweredError
			require.ErrorAs(t, err, &unanswered)
			require.Equal(t, primitives.UnansweredError{Asked: 5, Answered: 4}, *unanswered)
		}
		for _, r := range s.requests() { // They end by themselves.
			require.Equal(t, "4", r.answered)
		}
		// After 1, 2, 4, 8, 16 and 30 seconds all are asked again.
		require.Len(t, s.requests(), 2*6)
	})
}

// TestAdderAsksAgain: somebody has left before answering, or an answer is lost. Resets ask again as sums do.
func TestAdderAsksAgain(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		a := openAdder(t, s.client(t, nil))
		mute := s.newOwnLink(t)
		for _, ask := range []func(){
			func() { requireSum(t, 5, a) }, func() { require.NoError(t, a.Reset(t.Context())) },
		} {
			a.Add(5)
			left := must(mute.Subscribe(t.Context(), "{x}:adder-topic", func(backend.Event) {}))(t)
			time.AfterFunc(2500*time.Millisecond, left.Cancel)
			start := time.Now()
			ask()
			require.Less(t, time.Since(start), 3100*time.Millisecond)
			require.Greater(t, time.Since(start), 3*time.Second)
		}
		requireSum(t, 0, a)
	})
}

// TestAdderSaysHowManyHaveAnsweredBefore: the context ends before the keys are looked at again, just after all were
// asked anew, or while the second request is on its way.
func TestAdderSaysHowManyHaveAnsweredBefore(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		a := openAdder(t, s.client(t, nil))
		mute := s.newOwnLink(t)
		require.NoError(t, errOf(mute.Subscribe(t.Context(), "{x}:adder-topic", func(backend.Event) {})))
		for _, bound := range []time.Duration{10 * time.Millisecond, 3*time.Second + time.Microsecond, 1008 * time.Millisecond} {
			if bound == 1008*time.Millisecond {
				s.faults(fault{before: 5 * time.Millisecond})
			}
			require.ErrorContains(t, errOf(a.Sum(within(t, bound))), "2 of 3 have answered")
		}
		require.Equal(t, 1+3+2, s.called("adder_ask"))
	})
}

// TestAdderAnswersAtMostOnce loses what becomes of answers: on the way to the server, or back.
func TestAdderAnswersAtMostOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault fault
		calls int
	}{
		"LostReply": {fault{broken: true}, 2},
		"Outage":    {fault{err: fmt.Errorf("dial: %w", backend.ErrUnavailable)}, 3},
	} {
		subtest(t, name, func(t *testing.T, s *server) {
			a := openAdder(t, s.client(t, nil))
			a.Add(5)
			s.once("adder_answer", c.fault)
			requireSum(t, 5, a)
			time.Sleep(time.Hour)
			require.Equal(t, 1, s.called("adder_ask"), "nobody had to ask anew")
			require.Equal(t, c.calls, s.called("adder_answer"))
		})
	}
}

// TestAdderResetsNoLaterCount: a request to reset that an adder obeys late takes nothing of what was added since another
// one was obeyed.
func TestAdderResetsNoLaterCount(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		a := openAdder(t, s.client(t, nil))
		s.once("adder_here", fault{after: 10 * time.Second})
		a.Add(5)
		require.NoError(t, a.Reset(t.Context()))
		require.Equal(t, 2, s.called("adder_ask"))
		a.Add(3)
		time.Sleep(time.Minute)
		requireSum(t, 3, a)
	})
}

// TestAdderGivesUpAnAnswer: no server can be reached for longer than anybody waits.
func TestAdderGivesUpAnAnswer(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		a := openAdder(t, s.client(t, nil))
		s.faultOf("adder_answer", down)
		ctx := within(t, time.Hour)
		start := time.Now()
		require.EqualError(t, errOf(a.Sum(ctx)), `sum long adder "x": 0 of 2 have answered within a minute`)
		require.Equal(t, 61*time.Second, time.Since(start))
		time.Sleep(time.Hour)
		tries := s.called("adder_answer")
		time.Sleep(time.Hour)
		require.Equal(t, tries, s.called("adder_answer"))
	})
}

// TestAdderStress opens, adds, asks and closes side by side. A sum that is taken meanwhile has what was added before the
// call, and no more than was added in all. At the end the sum is that of the adder which stays.
func TestAdderStress(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		clients := []*primitives.Client{
			s.client(t, nil), s.client(t, nil), s.over(t, s.newOwnLink(t), nil),
		}
		stays := openAdder(t, clients[0])
		var all sync.WaitGroup
		for i := range 30 {
			all.Go(func() {
				for range 10 {
					a := openAdder(t, clients[i%len(clients)])
					a.Add(1000)
					stays.Increment()
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					if sum, err := a.Sum(ctx); err == nil { // Others close while they are asked.
						require.GreaterOrEqual(t, sum, int64(1001))
						require.LessOrEqual(t, sum, int64(30*1000+300))
					}
					cancel()
					require.NoError(t, a.Close())
				}
			})
		}
		all.Wait()
		requireSum(t, 300, stays)
		require.Equal(t, 2, s.subscribed())
	})
}

// TestAdderUnderAPrefix shares an adder with Redisson, which puts the prefix in front of the keys of answers, too.
func TestAdderUnderAPrefix(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		a := openAdder(t, s.client(t, &primitives.Options{KeyPrefix: "p:"}))
		a.Add(1)
		java, err := (s.newOwnLink(t)).Subscribe(t.Context(), "{p:x}:adder-topic", func(e backend.Event) {
			if id, isSum := strings.CutPrefix(e.Payload, "1:"); isSum {
				time.Sleep(100 * time.Millisecond) // Ours have answered: no more messages come.
				s.do("INCRBY", "p:{p:x}:"+id+":counter", "20")
				s.do("INCR", "p:{p:x}:"+id+":semaphore")
			}
		})
		require.NoError(t, err)
		start := time.Now()
		requireSum(t, 21, a)
		require.Less(t, time.Since(start), 200*time.Millisecond)
		require.Empty(t, s.requests())
		java.Cancel()
		s.do("PUBLISH", "{p:x}:adder-topic", "1:java")
		time.Sleep(time.Second)
		for _, key := range []string{"{p:x}:java", "p:{p:x}:java"} {
			require.Equal(t, adderRequest{"1", "1"}, s.request(key))
		}
	})
}

// TestAdderIsAskedOnOneTopicOnly: the link is not subscribed to one of the topics at the moment of the request. What
// it has counted is in the sum once.
func TestAdderIsAskedOnOneTopicOnly(t *testing.T) {
	t.Parallel()
	for _, unheard := range []string{"{x}:adder-topic", "{x}:topic"} {
		subtest(t, unheard, func(t *testing.T, s *server) {
			link := s.newOwnLink(t)
			deaf := &subscribing{link, func(ctx context.Context, channel string, handler backend.Handler) (backend.Subscription, error) {
				return link.Subscribe(ctx, strings.Replace(channel, unheard, "elsewhere", 1), handler)
			}}
			a, other := openAdder(t, s.client(t, nil)), openAdder(t, s.over(t, deaf, nil))
			a.Add(1)
			other.Add(20)
			requireSum(t, 21, a)
			require.NoError(t, a.Reset(t.Context()))
			requireSum(t, 0, a)
		})
	}
}
