package goredisbackend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/fanout"
)

var (
	errOutOfStep = errors.New("an answer out of step with what was asked")
	errLost      = errors.New("connection lost")
)

// ended is a context for what must use the connection that there is. The driver would otherwise
// replace a lost connection and subscribe again, unseen (S2); by a context that has ended, it does
// not dial, while reading and writing do not look at it.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// The answers that a link asks for.
const (
	subscribe   = "subscribe"
	unsubscribe = "unsubscribe"
	pong        = "pong"
)

// link implements [fanout.Link] on a connection of its own. Each command names one channel: the
// server answers in order, so an error, which names none, answers the first unanswered
// command.
type link struct {
	dialer *dialer
	events fanout.Events
	pubsub *redis.PubSub
	node   string        // in a cluster
	home   string        // of a client of Sentinel: the address that this leads to
	lost   chan struct{} // closed when nothing more is received

	subscribe, unsubscribe func(ctx context.Context, channels ...string) error // send the command of the channels' kind

	mu    sync.Mutex
	asked []question // those yet to be answered
}

type question struct {
	kind, channel string
	answer        chan error
}

// ask notes that an answer is due. It comes before the sending of the command.
func (l *link) ask(kind, channel string) question {
	q := question{kind, channel, make(chan error, 1)}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, q)
	return q
}

func (l *link) wait(ctx context.Context, q question) error {
	select {
	case err := <-q.answer:
		return err
	case <-l.lost:
		return errLost
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *link) Subscribe(ctx context.Context, channels []string) []error {
	questions := make([]question, len(channels))
	errs := make([]error, len(channels))
	for i, channel := range channels {
		questions[i] = l.ask(subscribe, channel)
		if err := l.subscribe(ended, channel); err != nil {
			return slices.Repeat([]error{err}, len(channels))
		}
	}
	for i, q := range questions {
		errs[i] = l.wait(ctx, q)
		if errors.Is(errs[i], backend.ScriptError("MOVED")) {
			l.dialer.stale.Store(true)
		}
	}
	return errs
}

// Unsubscribe implements [fanout.Link]. It does not wait for the answers.
func (l *link) Unsubscribe(_ context.Context, channels []string) error {
	for _, channel := range channels {
		l.ask(unsubscribe, channel)
		if err := l.unsubscribe(ended, channel); err != nil {
			return err
		}
	}
	return nil
}

// Left implements [fanout.Follower]. What fails is not known.
func (l *link) Left(ctx context.Context) error {
	if l.dialer.driver.cluster != nil {
		if _, err := l.dialer.findPrimary(ctx, l.node); errors.Is(err, errNoNode) {
			return err
		}
		return nil
	}
	var now string
	err := promptError(ctx, func() (err error) {
		now, err = l.dialer.primaryAddr(ctx)
		return err
	})
	if err == nil && now != l.home {
		return fmt.Errorf("the primary is at %s, no longer at %s", now, l.home)
	}
	return nil
}

func (l *link) Close() {
	_ = l.pubsub.Close()
	<-l.lost
}

// receive reports what arrives until the connection is lost or closed. It is the link's goroutine.
func (l *link) receive() {
	defer close(l.lost)
	var err error
	for err == nil {
		err = l.receiveOne()
	}
	l.dialer.stale.Store(true)
	l.events.Lost(err)
}

// receiveOne reports one message or answer. The driver panics at some that are malformed.
func (l *link) receiveOne() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in the driver: %v", p)
		}
	}()
	message, err := l.pubsub.Receive(ended)
	if err != nil {
		return l.refuse(failure(err))
	}
	return l.handle(message)
}

// handle reports a message, or an acknowledgement and whom it answers.
func (l *link) handle(message any) error {
	switch m := message.(type) {
	case *redis.Message:
		l.events.Message(m.Channel, m.Payload)
	case *redis.Pong:
		return l.answered(pong, "")
	case *redis.Subscription:
		if strings.HasSuffix(m.Kind, unsubscribe) {
			l.events.Unsubscribed(m.Channel)
			l.answeredIfAsked(unsubscribe, m.Channel)
			return nil
		}
		l.events.Subscribed(m.Channel)
		return l.answered(subscribe, m.Channel)
	}
	return nil
}

// answered answers the first question, which must be this one.
func (l *link) answered(kind, channel string) error {
	if !l.answeredIfAsked(kind, channel) {
		return fmt.Errorf("%w: %s %s", errOutOfStep, kind, channel)
	}
	return nil
}

// answeredIfAsked answers the first question if it is this one. A server unsubscribes also without
// being asked, when a slot has left it.
func (l *link) answeredIfAsked(kind, channel string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.asked) == 0 || l.asked[0].kind != kind || l.asked[0].channel != channel {
		return false
	}
	l.pop(nil)
	return true
}

// refuse answers the first question with an error reply, and returns any other error: then the
// connection is lost.
func (l *link) refuse(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !isServerError(err) || len(l.asked) == 0 {
		return err
	}
	l.pop(err)
	return nil
}

// pop answers the first question. The caller holds mu.
func (l *link) pop(err error) {
	l.asked[0].answer <- err
	l.asked = l.asked[1:]
}
