package rueidisbackend

import (
	"context"
	"errors"
	"fmt"
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
// each time it writes the command. It writes a command again, also one that writes, if
// ConnLifetime ended the connection; but then it has waited for the first reply for a second (R3).
// That it asks between the round trips of setting up a connection, too, is why the time is counted
// from the last question and not from the first.
//
// After maxAsks questions it fails, too: each server before has refused the command by a redirect.
//
// It holds the claims of the commands from the first question on, and is free before, while the
// client dials (B2).
type sending struct {
	context.Context
	claims  []*backend.Claim
	claim   [1]*backend.Claim // of a single command, to be one allocation with it
	asked   atomic.Int64      // when last for the error, since epoch; 0 if never
	asks    atomic.Int32      // how often
	refused atomic.Bool
	dials   atomic.Bool // the client is connecting, and the deadline is near
	handed  atomic.Bool // the client came to a connection that is not closed
}

const (
	resendAfter = 900 * time.Millisecond

	// maxAsks bounds how often a command is written: the client follows redirects without end. Setting up a
	// connection asks once or twice.
	maxAsks = 16
)

var (
	epoch = time.Now()

	errWithdrawn = errors.New("the call was withdrawn")

	errResend = errors.New("the connection's lifetime ended before the reply came")

	errRedirects = errors.New("the cluster has redirected the command too often")

	// errUnwritten is of a command that found its connection broken, or closed.
	errUnwritten = errors.New("nothing was written")
)

// one is the context of a single command.
func one(ctx context.Context, claim *backend.Claim) *sending {
	s := &sending{Context: ctx, claim: [1]*backend.Claim{claim}}
	s.claims = s.claim[:]
	claim.NotSent(nil)
	return s
}

// several is the context of commands that are sent together.
func several(ctx context.Context, cmds []evalsha.Command) *sending {
	s := &sending{Context: ctx, claims: make([]*backend.Claim, len(cmds))}
	for i, cmd := range cmds {
		s.claims[i] = cmd.Claim
		cmd.Claim.NotSent(nil)
	}
	return s
}

// take takes all claims, or reports false: then nothing may be written.
func (s *sending) take() bool {
	for _, claim := range s.claims {
		if !claim.Begin() {
			return false
		}
	}
	return true
}

// Done notes that the client is about to wait for a connection or a reply.
func (s *sending) Done() <-chan struct{} {
	s.handed.Store(true)
	return s.Context.Done()
}

// Deadline hides the deadline, unless it is near and the client is connecting.
func (s *sending) Deadline() (time.Time, bool) {
	s.handed.Store(true)
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

// Err returns the caller's error, or that of a resend, of too many redirects, or of a call that was withdrawn.
func (s *sending) Err() error {
	if err := s.Context.Err(); err != nil {
		return err
	}
	if !s.take() {
		return errWithdrawn
	}
	asks := s.asks.Add(1)
	now := time.Since(epoch)
	last := time.Duration(s.asked.Swap(int64(now)))
	if last != 0 && now-last >= resendAfter {
		s.refused.Store(true)
	}
	if s.refused.Load() {
		return errResend
	}
	if asks > maxAsks {
		return errRedirects
	}
	return nil
}

// outcome returns the reply in result, or its error by the classes of [evalsha.Driver].
func (s *sending) outcome(result rueidis.RedisResult) (backend.Reply, error) {
	message, err := result.ToMessage()
	if result.NonRedisError() == nil && (err == nil || rueidis.IsRedisNil(err)) {
		return reply(&message)
	}
	err = failure(result)
	switch {
	case s.notSent(err):
		err = evalsha.NotSent(err)
	case !s.handed.Load() && s.asks.Load() > 0 && result.NonRedisError() != nil:
		err = evalsha.NotSent(fmt.Errorf("%w: %w", errUnwritten, err))
	}
	return backend.Reply{}, err
}

// unlessClosed returns what send returns, with [backend.ErrClosed] if the client was closed before.
//
// The client returns ErrClosing, or how a connection broke, for a command that it has written, too: then the outcome is
// unknown. It was not written if the client did not ask its context for Done or Deadline, one of
// which comes before each writing. That may mean that only the connection was closed, because the
// client has just left its node; it then has another one for a second try. If that fails with ErrClosing,
// the client is closed.
func unlessClosed[T any](ctx context.Context, claim *backend.Claim, send func(s *sending) (T, error)) (T, error) {
	reply, err := send(one(ctx, claim))
	if errors.Is(err, errUnwritten) {
		reply, err = send(one(ctx, claim))
	}
	if errors.Is(err, errUnwritten) && errors.Is(err, rueidis.ErrClosing) {
		err = evalsha.NotSent(fmt.Errorf("%w: %w", backend.ErrClosed, rueidis.ErrClosing))
	}
	return reply, err
}

// notSent reports whether err proves that the command was not written. A broken connection does
// not, nor that the client is closing, by itself: both were seen for commands that had been
// executed.
//
//nolint:errorlint // Only the bare errors are known to be raised before writing.
func (s *sending) notSent(err error) bool {
	var op *net.OpError
	switch {
	case errors.As(err, &op):
		return op.Op == "dial"
	// A command withdrawn while its connection was set up ends that for all calls that share it.
	case err == rueidis.ErrNoSlot, err == errWithdrawn, err == errRedirects:
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

// failure returns the error in result, an error reply as [*backend.ServerError]: from its whole text, since the client's
// own error leaves the code out if it is ERR, and then another word in upper case may look like one.
//
// A reply that the client returns as the connection's error was one to what sets the connection up, such as AUTH.
func failure(result rueidis.RedisResult) error {
	err := result.Error()
	if refusal := result.NonRedisError(); errors.As(refusal, new(*rueidis.RedisError)) ||
		errors.Is(refusal, rueidis.ErrNoCache) {
		return evalsha.NotSent(fmt.Errorf("the server refused the connection: %w", err))
	}
	if _, ok := rueidis.IsRedisErr(err); ok {
		message, _ := result.ToMessage()
		text, _ := message.ToString()
		return backend.ParseServerError(text)
	}
	return err
}
