package rueidisbackend

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/evalsha"
)

// sending is the context of one call of the client. It differs from the caller's in two ways that
// make the client keep the contract.
//
// It hides the deadline. With one, the client reads from the socket until that deadline, deaf to
// cancellation (R7); without, it waits for Done. But while the client connects it is deaf in any
// case, for as long as Dialer.Timeout; then a deadline that is nearer must be known. The client
// begins to connect before it asks for the error at all, and with a near deadline asks for the
// error once while it does. (With a far one, it makes a context of its own.)
//
// It fails when it is asked for its error a second time after resendAfter. The client asks before
// each time it writes the command. It writes a command again, whatever the command, if
// ConnLifetime ended the connection; but then it has waited for the first reply for a second (R3).
// That it asks between the round trips of setting up a connection, too, is why the time is counted
// from the last question and not from the first.
type sending struct {
	context.Context
	asked   atomic.Int64 // when last for the error, since epoch; 0 if never
	asks    atomic.Int32 // how often
	refused atomic.Bool
	dials   atomic.Bool // the client is connecting, and the deadline is near
}

const resendAfter = 900 * time.Millisecond

var (
	epoch = time.Now()

	errResend = errors.New("the connection's lifetime ended before the reply came")
)

// Deadline hides the deadline, unless it is near and the client is connecting.
func (s *sending) Deadline() (time.Time, bool) {
	deadline, ok := s.Context.Deadline()
	asks := s.asks.Load()
	if ok && asks == 0 && time.Until(deadline) < rueidis.DefaultDialTimeout {
		s.dials.Store(true)
	}
	if asks <= 1 && s.dials.Load() {
		return deadline, true
	}
	return time.Time{}, false
}

// Err returns the caller's error, or that of a resend.
func (s *sending) Err() error {
	if err := s.Context.Err(); err != nil {
		return err
	}
	s.asks.Add(1)
	now := time.Since(epoch)
	last := time.Duration(s.asked.Swap(int64(now)))
	if last != 0 && now-last >= resendAfter {
		s.refused.Store(true)
	}
	if s.refused.Load() {
		return errResend
	}
	return nil
}

// outcome returns the reply in result, or its error by the classes of [evalsha.Driver].
func (s *sending) outcome(result rueidis.RedisResult) (backend.Reply, error) {
	message, err := result.ToMessage()
	if err == nil || rueidis.IsRedisNil(err) {
		return reply(&message)
	}
	err = failure(result)
	if s.notSent(err) {
		err = evalsha.NotSent(err)
	}
	return backend.Reply{}, err
}

// notSent reports whether err proves that the command was not written. A broken connection does
// not, nor that the client is closing: both were seen for commands that had been executed.
//
//nolint:errorlint // Only the bare errors are known to be raised before writing.
func (s *sending) notSent(err error) bool {
	var op *net.OpError
	switch {
	case errors.As(err, &op):
		return op.Op == "dial"
	case err == rueidis.ErrNoSlot:
		return true
	case err == errResend:
		// Calls share the setting up of a connection: it was another's that was refused.
		return !s.refused.Load()
	case err == context.Canceled, err == context.DeadlineExceeded:
		// Likewise: if the caller's context lasts, another's has ended.
		return s.Context.Err() == nil
	}
	return false
}

// failure returns the error in result, a server's as [*backend.ServerError].
func failure(result rueidis.RedisResult) error {
	err := result.Error()
	if _, ok := rueidis.IsRedisErr(err); ok {
		return serverError(result)
	}
	return err
}
