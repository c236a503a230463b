package rueidisbackend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/evalsha"
)

func TestSendingRefusesAResend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &sending{Context: t.Context()}
		for range 5 { // connecting, over a slow network
			require.NoError(t, s.Err())
			time.Sleep(resendAfter - 1)
		}
		require.NoError(t, s.Err())
		time.Sleep(resendAfter)
		require.ErrorIs(t, s.Err(), errResend)
		require.ErrorIs(t, s.Err(), errResend, "for good")
	})
}

func TestSendingShowsANearDeadlineWhileConnecting(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		deadline time.Duration
		dials    bool
		shown    [3]bool // after so many questions for the error
	}{
		"Near":       {time.Second, true, [3]bool{true, true, false}},
		"NearNoDial": {time.Second, false, [3]bool{false, false, false}},
		"Far":        {time.Hour, true, [3]bool{false, false, false}},
		"FarNoDial":  {time.Hour, false, [3]bool{false, false, false}},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), test.deadline)
			defer cancel()
			s := &sending{Context: ctx}
			for asked, want := range test.shown {
				if asked > 0 || test.dials {
					_, shown := s.Deadline()
					require.Equal(t, want, shown, "%s: asked %d times", name, asked)
				}
				require.NoError(t, s.Err())
			}
		})
	}
}

// errorResult returns what a client returns with err. rueidis.NewErrorResult is newer than the oldest client.
func errorResult(err error) (result rueidis.RedisResult) {
	field := reflect.ValueOf(&result).Elem().FieldByName("err")
	reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem().Set(reflect.ValueOf(err))
	return result
}

// failing is a driver all of whose sends fail.
type failing struct {
	evalsha.Driver
	err error
}

func (f failing) Send(context.Context, evalsha.Command) (backend.Reply, error) {
	return backend.Reply{}, f.err
}

func evalshaClass(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Millisecond)
	defer cancel()
	script := backend.NewScript("s", "return 1", 1, backend.RetryNever)
	_, err = evalsha.New(failing{err: err}, nil).Run(ctx, script, []string{"k"}, nil)
	return err
}

func TestClosedClientIsNotTheSameAsAClosedConnection(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		asks    []bool // by each sending
		closed  bool
		unknown bool
	}{
		"Client":            {[]bool{false, false}, true, false},
		"InFlight":          {[]bool{true}, false, true},
		"InFlightTheSecond": {[]bool{false, true}, false, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			sent := 0
			_, err := unlessClosed(t.Context(), nil, func(s *sending) (backend.Reply, error) {
				sent++
				_ = s.Err()
				if test.asks[sent-1] {
					s.Done()
				}
				return s.outcome(errorResult(rueidis.ErrClosing))
			})
			require.Len(t, test.asks, sent)
			require.ErrorIs(t, err, rueidis.ErrClosing)
			require.Equal(t, test.closed, errors.Is(err, backend.ErrClosed), name)
			require.Equal(t, test.unknown, errors.Is(
				evalshaClass(t.Context(), err), backend.ErrIndeterminate))
		})
	}
}

func TestWhatProvesThatNothingWasSent(t *testing.T) {
	t.Parallel()
	live := t.Context()
	ended, cancel := context.WithCancel(live)
	cancel()
	dial := &net.OpError{Op: "dial", Err: errors.New("refused")}
	for name, test := range map[string]struct {
		ctx     context.Context
		refused bool
		err     error
		unsent  bool
	}{
		"Dial":                 {live, false, fmt.Errorf("tls: %w", dial), true},
		"NoSlot":               {live, false, rueidis.ErrNoSlot, true},
		"AnotherCallsContext":  {live, false, context.Canceled, true},
		"AnotherCallsDeadline": {live, false, context.DeadlineExceeded, true},
		"AnotherCallsResend":   {live, false, errResend, true},
		"OwnContext":           {ended, false, context.Canceled, false},
		"OwnResend":            {live, true, errResend, false},
		"EOF":                  {live, false, io.EOF, false},
		"Read":                 {live, false, &net.OpError{Op: "read", Err: io.EOF}, false},
		"Write":                {live, false, &net.OpError{Op: "write", Err: io.ErrClosedPipe}, false},
		"Closing":              {live, false, rueidis.ErrClosing, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &sending{Context: test.ctx}
			s.refused.Store(test.refused)
			s.Done()
			_, err := s.outcome(errorResult(test.err))
			err = evalshaClass(test.ctx, err)
			require.ErrorIs(t, err, test.err)
			require.Equal(t, !test.unsent, errors.Is(err, backend.ErrIndeterminate), name)
		})
	}
}

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
