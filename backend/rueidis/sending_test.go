package rueidisbackend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
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
