package primitives_test

import (
	"context"
	"errors"
	"fmt"
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
	a, err := c.OpenLongAdder(t.Context(), "x")
	require.NoError(t, err)
	return a
}

// requireSum asks for the sum.
func requireSum(t *testing.T, want int64, a *primitives.LongAdder) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := a.Sum(ctx)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// TestAddersOfOneBackendAnswerOnce has adders of two clients over one backend, and of a third over another.
func TestAddersOfOneBackendAnswerOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		one, two := s.client(t, nil), s.client(t, nil)
		third := s.over(t, &fakeLink{fakeServer: s}, nil)
		all := []*primitives.LongAdder{openAdder(t, one), openAdder(t, one), openAdder(t, two), openAdder(t, third)}
		for i, a := range all {
			a.Add(int64(1) << (4 * i))
		}
		for i, a := range all {
			requireSum(t, 0x1111, a)
			require.Equal(t, 2*(i+1), s.called("adder_answer"))
		}
		all[3].Close()
		requireSum(t, 0x111, all[0])
		require.NoError(t, one.Close(t.Context()))
		requireSum(t, 0x100, all[2])
		require.Empty(t, s.requests())
	})
}

// TestAdderResetsAll: all of them forget, and count on.
func TestAdderResetsAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		one, two := openAdder(t, s.client(t, nil)), openAdder(t, s.over(t, &fakeLink{fakeServer: s}, nil))
		one.Add(3)
		two.Add(4)
		require.NoError(t, one.Reset(t.Context()))
		requireSum(t, 0, two)
		one.Increment()
		two.Decrement()
		two.Decrement()
		requireSum(t, -1, two)
		require.Empty(t, s.requests())
	})
}

// TestAdderCountsItselfWithoutALink: who asks while its link is being restored is not asked itself. Its own
// adders count all the same, and others that are left out do not.
func TestAdderCountsItselfWithoutALink(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		link := &fakeLink{fakeServer: s}
		one, two := openAdder(t, s.client(t, nil)), openAdder(t, s.over(t, link, nil))
		one.Add(3)
		two.Add(4)
		s.set(func() { link.down = true })
		requireSum(t, 7, two)
		requireSum(t, 3, one)
		require.NoError(t, two.Reset(t.Context()))
		s.set(func() { link.down = false })
		requireSum(t, 0, one)
	})
}

// TestAdderSaysHowManyHaveAnswered: one of three does not answer until the context ends.
func TestAdderSaysHowManyHaveAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		a := openAdder(t, s.client(t, nil))
		openAdder(t, s.over(t, &fakeLink{fakeServer: s}, nil))
		mute := &fakeLink{fakeServer: s}
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
			require.ErrorContains(t, err, `long adder "x": 2 of 3 have answered`)
			require.ErrorContains(t, err, "enough")
			var unanswered *primitives.UnansweredError
			require.ErrorAs(t, err, &unanswered)
			require.Equal(t, primitives.UnansweredError{Asked: 3, Answered: 2}, *unanswered)
		}
		for _, r := range s.requests() { // They end by themselves.
			require.Equal(t, int64(2), r.answered)
		}
		// After 1, 2, 4, 8, 16 and 30 seconds all are asked anew.
		require.Len(t, s.requests(), 2*6)
	})
}

// TestAdderAsksAgain: somebody has left before answering, or an answer is lost. Resets ask again as sums do.
func TestAdderAsksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		a := openAdder(t, s.client(t, nil))
		mute := &fakeLink{fakeServer: s}
		for _, ask := range []func(){
			func() { requireSum(t, 5, a) }, func() { require.NoError(t, a.Reset(t.Context())) },
		} {
			a.Add(5)
			left, err := mute.Subscribe(t.Context(), "{x}:adder-topic", func(backend.Event) {})
			require.NoError(t, err)
			time.AfterFunc(2500*time.Millisecond, left.Cancel)
			start := time.Now()
			ask()
			require.Less(t, time.Since(start), 3100*time.Millisecond)
			require.Greater(t, time.Since(start), 3*time.Second)
		}
		requireSum(t, 0, a)
	})
}

// TestAdderSaysHowManyHaveAnsweredBefore: the context ends before the keys are looked at again, or just after
// all were asked anew.
func TestAdderSaysHowManyHaveAnsweredBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		a := openAdder(t, s.client(t, nil))
		mute := &fakeLink{fakeServer: s}
		_, err := mute.Subscribe(t.Context(), "{x}:adder-topic", func(backend.Event) {})
		require.NoError(t, err)
		for _, bound := range []time.Duration{10 * time.Millisecond, 3*time.Second + time.Microsecond} {
			ctx, cancel := context.WithTimeout(t.Context(), bound)
			defer cancel()
			_, err = a.Sum(ctx)
			require.ErrorContains(t, err, "1 of 2 have answered")
		}
		require.Equal(t, 1+3, s.called("adder_ask"))
	})
}

// TestAdderAnswersAtMostOnce loses what becomes of answers: on the way to the server, or back.
func TestAdderAnswersAtMostOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault fault
		calls int
	}{
		"LostReply": {fault{broken: true}, 1},
		"Outage":    {fault{err: fmt.Errorf("dial: %w", backend.ErrUnavailable)}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newFakeServer()
				a := openAdder(t, s.client(t, nil))
				a.Add(5)
				s.fault = func(script string) (f fault) {
					if script == "adder_answer" && s.calls[script] == 1 {
						return c.fault
					}
					return fault{}
				}
				requireSum(t, 5, a)
				time.Sleep(time.Hour)
				require.Equal(t, c.calls, s.called("adder_answer"))
			})
		})
	}
}

// TestAdderGivesUpAnAnswer: no server can be reached for longer than anybody waits.
func TestAdderGivesUpAnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		a := openAdder(t, s.client(t, nil))
		s.fault = func(script string) (f fault) {
			if script == "adder_answer" {
				f.err = backend.ErrUnavailable
			}
			return f
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := a.Sum(ctx)
		require.ErrorContains(t, err, "0 of 1 have answered")
		time.Sleep(time.Hour)
		tries := s.called("adder_answer")
		time.Sleep(time.Hour)
		require.Equal(t, tries, s.called("adder_answer"))
	})
}

// TestAdderMayAskAgain: after an error that leaves open what has happened, nothing has changed.
func TestAdderMayAskAgain(t *testing.T) {
	t.Parallel()
	for _, broken := range []string{"adder_ask", "adder_take"} {
		t.Run(broken, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newFakeServer()
				a := openAdder(t, s.client(t, nil))
				a.Add(5)
				s.set(func() { s.fault = func(script string) fault { return fault{broken: script == broken} } })
				_, err := a.Sum(t.Context())
				require.ErrorIs(t, err, primitives.ErrIndeterminate)
				s.set(func() { s.fault = func(string) fault { return fault{} } })
				requireSum(t, 5, a)
			})
		})
	}
}

// TestAdderClosesDuringSum closes the adder, or its client, while others do not answer.
func TestAdderClosesDuringSum(t *testing.T) {
	t.Parallel()
	for _, client := range []bool{false, true} {
		t.Run(fmt.Sprint("Client", client), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newFakeServer()
				c := s.client(t, nil)
				a, stays := openAdder(t, c), openAdder(t, s.client(t, nil))
				mute := &fakeLink{fakeServer: s}
				silent, err := mute.Subscribe(t.Context(), "{x}:adder-topic", func(backend.Event) {})
				require.NoError(t, err)
				failed := make(chan error, 1)
				bounded, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				go func() { _, err := a.Sum(bounded); failed <- err }()
				time.Sleep(time.Second)
				start := time.Now()
				if client {
					require.NoError(t, c.Close(t.Context()))
				}
				a.Close()
				err = <-failed
				require.ErrorIs(t, err, primitives.ErrClosed)
				require.NotErrorIs(t, err, context.Canceled)
				require.Zero(t, time.Since(start))
				a.Close()
				a.Add(1)
				_, err = a.Sum(t.Context())
				require.ErrorIs(t, err, primitives.ErrClosed)
				require.ErrorIs(t, a.Reset(t.Context()), primitives.ErrClosed)
				silent.Cancel()
				stays.Add(2)
				requireSum(t, 2, stays)
			})
		})
	}
}

// TestAdderSubscribesWhileOpen: the first adder subscribes, the last one ends that, and the next one begins
// anew.
func TestAdderSubscribesWhileOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		c := s.client(t, nil)
		for range 2 {
			a, b := openAdder(t, c), openAdder(t, c)
			require.Equal(t, 1, s.subscribed())
			a.Close()
			requireSum(t, 0, b)
			require.Equal(t, 1, s.subscribed(), "what waits for answers is unsubscribed at once")
			b.Close()
			require.Zero(t, s.subscribed())
		}
		closed := s.client(t, nil)
		require.NoError(t, closed.Close(t.Context()))
		_, err := closed.OpenLongAdder(t.Context(), "x")
		require.ErrorIs(t, err, primitives.ErrClosed)
		require.Zero(t, s.subscribed())
	})
}

// slowSubscriber acknowledges subscriptions when it is told to, or never.
type slowSubscriber struct {
	*fakeServer
	acknowledge chan struct{}
}

func (b *slowSubscriber) Subscribe(
	ctx context.Context, channel string, handler backend.Handler,
) (backend.Subscription, error) {
	select {
	case <-b.acknowledge:
		return b.fakeServer.Subscribe(ctx, channel, handler)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// panicking is a backend with a hook that panics when it subscribes, once.
type panicking struct {
	*fakeServer
	done bool
}

func (b *panicking) Subscribe(
	ctx context.Context, channel string, handler backend.Handler,
) (backend.Subscription, error) {
	if !b.done {
		b.done = true
		panic("hook")
	}
	return b.fakeServer.Subscribe(ctx, channel, handler)
}

// TestAdderAfterAPanic: what could not be opened counts for nothing, and the next one can.
func TestAdderAfterAPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		c := s.over(t, &panicking{fakeServer: s}, nil)
		require.PanicsWithValue(t, "hook", func() { _, _ = c.OpenLongAdder(t.Context(), "x") })
		a := openAdder(t, c)
		a.Increment()
		requireSum(t, 1, a)
		a.Close()
		require.Zero(t, s.subscribed(), "nobody else is open")
	})
}

// TestAdderOpensTogether: several wait for one subscription. The one who asks for it leaves, or its client is
// closed; another goes on.
func TestAdderOpensTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		b := &slowSubscriber{s, make(chan struct{})}
		closes, stays := s.over(t, b, nil), s.over(t, b, nil)
		open := func(ctx context.Context, c *primitives.Client) chan error {
			done := make(chan error, 1)
			go func() { _, err := c.OpenLongAdder(ctx, "x"); done <- err }()
			synctest.Wait()
			return done
		}
		ctx, cancel := context.WithCancel(t.Context())
		leaves, ends := open(ctx, stays), open(t.Context(), closes)
		var all []chan error
		for range 3 {
			all = append(all, open(t.Context(), stays))
		}
		cancel()
		require.ErrorIs(t, <-leaves, context.Canceled)
		require.NoError(t, closes.Close(t.Context()))
		require.ErrorIs(t, <-ends, primitives.ErrClosed)
		close(b.acknowledge)
		for _, done := range all {
			require.NoError(t, <-done)
		}
		require.Equal(t, 1, s.subscribed())
	})
}

// TestAdderStress opens, adds, asks and closes side by side: what stays is the sum of who stays.
func TestAdderStress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		clients := []*primitives.Client{
			s.client(t, nil), s.client(t, nil), s.over(t, &fakeLink{fakeServer: s}, nil),
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
					}
					cancel()
					a.Close()
				}
			})
		}
		all.Wait()
		requireSum(t, 300, stays)
		require.Equal(t, 1, s.subscribed())
	})
}

// limited is a backend that can do less than others, or cannot be compared.
type limited struct {
	*fakeServer
	can backend.Capabilities
	_   []int
}

func (l limited) Capabilities() backend.Capabilities { return l.can }

// TestAdderRefusals: what cannot work is refused, and nothing is sent.
func TestAdderRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		for says, b := range map[string]backend.Backend{
			"does not subscribe": &limited{fakeServer: s},
			"PUBLISH counts the receivers of one node": &limited{
				fakeServer: s, can: backend.Capabilities{Cluster: true, PubSub: true},
			},
			"primitives_test.limited cannot be compared": limited{
				fakeServer: s, can: backend.Capabilities{PubSub: true},
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
		require.Equal(t, 1, s.subscribed())
		a.Close()
		d, err := c.OpenDoubleAdder(t.Context(), "x")
		require.NoError(t, err)
		d.Close()
	})
}

// TestAdderMindsItsOwnMessages: other messages on the channel are none of its business.
func TestAdderMindsItsOwnMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		a := openAdder(t, s.client(t, nil))
		a.Add(1)
		for _, payload := range []string{"", "1", "2:id", ":", "01:id", "reset"} {
			s.set(func() { s.publish("{x}:adder-topic", payload) })
		}
		time.Sleep(time.Second)
		require.Zero(t, s.called("adder_answer"))
		requireSum(t, 1, a)
		require.Equal(t, 1, s.called("adder_answer"))
	})
}
