package primitives_test

import (
	"context"
	"fmt"
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

// subscribing is a link by which a client subscribes in a way of its own.
type subscribing struct {
	backend.Backend
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

// TestAdderIsClosedWhileItOpens: what the server acknowledges later is of nobody.
func TestAdderIsClosedWhileItOpens(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		acknowledge := make(chan struct{})
		c := s.over(t, &subscribing{s, func(ctx context.Context, channel string, handler backend.Handler) (backend.Subscription, error) {
			<-acknowledge
			return s.Subscribe(context.WithoutCancel(ctx), channel, handler)
		}}, nil)
		opened := beside(func() error { return errOf(c.OpenLongAdder(t.Context(), "x")) })
		synctest.Wait()
		closed := beside(func() error { return c.Close(t.Context()) })
		synctest.Wait()
		close(acknowledge)
		require.ErrorIs(t, <-opened, primitives.ErrClosed)
		require.NoError(t, <-closed)
		require.Zero(t, s.subscribed())
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
