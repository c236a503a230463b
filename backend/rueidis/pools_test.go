package rueidisbackend

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
)

// poolClient is a client whose pool yields a connection for each value sent to yield.
type poolClient struct {
	rueidis.Client
	yield  chan struct{}
	inside atomic.Int32 // calls of Dedicate that wait
	closed atomic.Int32 // connections that were closed
	panics bool
}

type poolConn struct {
	rueidis.DedicatedClient
	closed *atomic.Int32
}

func (c poolConn) Close() { c.closed.Add(1) }

func (c *poolClient) Dedicate() (rueidis.DedicatedClient, func()) {
	c.inside.Add(1)
	defer c.inside.Add(-1)
	<-c.yield
	if c.panics {
		panic("hook")
	}
	return poolConn{closed: &c.closed}, func() {}
}

func TestOneGoroutineWaitsForAPool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, p := &poolClient{yield: make(chan struct{})}, &pools{}
		for range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := p.take(ctx, "a", c)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, int32(1), c.inside.Load())
		}

		got := make(chan error, 2) // The next take over what is under way.
		for range 2 {
			go func() {
				_, err := p.take(t.Context(), "a", c)
				got <- err
			}()
		}
		synctest.Wait()
		require.Equal(t, int32(1), c.inside.Load())
		for range 2 {
			c.yield <- struct{}{}
			require.NoError(t, <-got)
		}
		synctest.Wait()
		require.Zero(t, c.inside.Load())
		require.Zero(t, c.closed.Load())

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := p.take(ctx, "a", c)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		c.yield <- struct{}{}
		synctest.Wait()
		require.Equal(t, int32(1), c.closed.Load(), "nobody wants it any more")
		require.Empty(t, p.queue)
	})
}

func TestPanicOfAPool(t *testing.T) {
	t.Parallel()
	c, p := &poolClient{yield: make(chan struct{}, 1), panics: true}, &pools{}
	c.yield <- struct{}{}
	require.PanicsWithValue(t, "hook", func() { _, _ = p.take(t.Context(), "a", c) })
}

// TestOutcomesByWhichSlotsAreForgotten: those of a node that is gone or was replaced, and of a slot that has moved.
func TestOutcomesByWhichSlotsAreForgotten(t *testing.T) {
	t.Parallel()
	server := func(code string) error { return &backend.ServerError{Code: code} }
	for i, err := range []error{
		nil, server("NOSCRIPT"), server("ASK"), server("OOM"),
		server("MOVED"), server("READONLY"), backend.ErrUnavailable, backend.Indeterminate(backend.ErrReply),
	} {
		s := &slots{read: time.Now()}
		s.forgetIfStale([]backend.Outcome{{}, {Err: err}})
		require.Equal(t, i > 3, s.read.IsZero(), err)
	}
}

// Nodes implements [rueidis.Client], for TestSlotsAreAskedForOnce.
func (c *poolClient) Nodes() map[string]rueidis.Client {
	c.inside.Add(1)
	<-c.yield
	return map[string]rueidis.Client{"left": nil}
}

// TestSlotsAreAskedForOnce at a time, in the background; after a failure again.
func TestSlotsAreAskedForOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &poolClient{yield: make(chan struct{})}
		s := &slots{client: c, left: "left"}
		for asked := range 3 {
			for range 9 {
				require.Empty(t, s.known("k"))
			}
			synctest.Wait()
			require.EqualValues(t, asked+1, c.inside.Load())
			c.yield <- struct{}{}
			synctest.Wait()
		}
	})
}

func TestParseRange(t *testing.T) {
	t.Parallel()
	number, text := backend.IntegerReply, backend.StringReply
	list := func(items ...backend.Reply) backend.Reply { return backend.ArrayReply(items) }
	replica := list(text("10.0.0.9"), number(7000), text("id"))
	for name, test := range map[string]struct {
		entry backend.Reply
		want  slotRange
		fails bool
	}{
		"Address": {
			entry: list(number(1), number(5), list(text("10.0.0.1"), number(7001)), replica),
			want:  slotRange{1, 5, "10.0.0.1:7001"},
		},
		"IPv6": {
			entry: list(number(1), number(5), list(text("::1"), number(7001))),
			want:  slotRange{1, 5, "[::1]:7001"},
		},
		"HostOfTheAsked": {
			entry: list(number(0), number(0), list(backend.Reply{}, number(7001))),
			want:  slotRange{0, 0, "asked:7001"},
		},
		"NoPrimary":    {entry: list(number(1), number(5)), fails: true},
		"NoPort":       {entry: list(number(1), number(5), list(text("h"))), fails: true},
		"NoNumber":     {entry: list(text("x"), number(5), list(text("h"), number(1))), fails: true},
		"NotAnArray":   {entry: number(1), fails: true},
		"NodeIsNoList": {entry: list(number(1), number(5), number(7)), fails: true},
	} {
		got, err := parseRange(test.entry, "asked:7000")
		if test.fails {
			require.Error(t, err, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, test.want, got, name)
	}
}

// TestFind asks for the first and the last slot of each range, of all, and of what no range has.
func TestFind(t *testing.T) {
	t.Parallel()
	ranges := []slotRange{{8192, 16382, "c"}, {0, 5460, "a"}, {5461, 5461, "b"}}
	for slot, want := range map[int]string{
		0: "a", 1: "a", 5459: "a", 5460: "a", 5461: "b", 5462: "", 8191: "", 8192: "c", 16382: "c", 16383: "",
	} {
		key := 0
		for backend.Slot(strconv.Itoa(key)) != slot {
			key++
		}
		got, found := find(ranges, strconv.Itoa(key))
		require.Equal(t, want, got, slot)
		require.Equal(t, want != "", found, slot)
	}
}
