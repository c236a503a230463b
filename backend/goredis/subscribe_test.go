package goredisbackend_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
)

// ack is the server's answer to a SUBSCRIBE or UNSUBSCRIBE.
func ack(words []string) string {
	return fmt.Sprintf(">3\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n:1\r\n",
		len(words[0]), words[0], len(words[1]), words[1])
}

func message(channel, payload string) string {
	return fmt.Sprintf(">3\r\n$7\r\nmessage\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n",
		len(channel), channel, len(payload), payload)
}

// collect subscribes with a handler that sends its events to a channel.
func collect(t *testing.T, b backend.Subscriber, channel string) (
	backend.Subscription, <-chan backend.Event,
) {
	t.Helper()
	events := make(chan backend.Event, 100)
	sub, err := b.Subscribe(t.Context(), channel, func(e backend.Event) { events <- e })
	require.NoError(t, err)
	return sub, events
}

// The driver's own way to replace a lost connection would subscribe at once, without a report.
func TestLostConnectionIsAGap(t *testing.T) {
	t.Parallel()
	var subscribed atomic.Int32
	release := make(chan struct{})
	cut := make(chan struct{})
	s := newFakeServer(t, func(words []string) string {
		switch subscribed.Add(1) {
		case 1:
			return ack(words)
		case 2: // by another test step: the cut
			close(cut)
			return hangup
		default:
			<-release
			return ack(words) + message(words[1], "after")
		}
	})
	var connected atomic.Int32
	s.change(func() { s.hello = func() { connected.Add(1) } })
	b := connect(t, s, redis.Options{})
	_, events := collect(t, b, "c")
	go func() { _, _ = b.Subscribe(t.Context(), "cut", func(backend.Event) {}) }()
	<-cut
	require.Eventually(t, func() bool { return subscribed.Load() > 2 },
		10*time.Second, time.Millisecond)
	require.Empty(t, events, "not before the server has acknowledged")
	close(release)
	require.Equal(t, backend.Event{Kind: backend.EventResubscribed}, <-events)
	require.Equal(t, backend.Event{Payload: "after"}, <-events)
	require.EqualValues(t, 2, connected.Load(), "a third is the driver's doing")
}

// Errors name no channel, so they go by the order.
func TestRefusalGoesToItsChannel(t *testing.T) {
	t.Parallel()
	s := newFakeServer(t, func(words []string) string {
		if words[1] == "secret" {
			return "-NOPERM no access to channel\r\n"
		}
		return ack(words)
	})
	b := connect(t, s, redis.Options{})
	results := make(chan error, 60)
	for i := range cap(results) {
		go func() {
			channel := fmt.Sprint(i)
			if i%3 == 0 {
				channel = "secret"
			}
			_, err := b.Subscribe(context.Background(), channel, func(backend.Event) {})
			if (err != nil) != (channel == "secret") {
				err = fmt.Errorf("%s: %w", channel, err)
			} else {
				err = nil
			}
			results <- err
		}()
	}
	for range cap(results) {
		require.NoError(t, <-results)
	}
}

// An answer that nobody asked for means that commands and answers no longer match.
func TestOutOfStepIsAGap(t *testing.T) {
	t.Parallel()
	var subscribed atomic.Int32
	s := newFakeServer(t, func(words []string) string {
		if subscribed.Add(1) == 1 {
			return ack(words) + "+PONG\r\n"
		}
		return ack(words)
	})
	b := connect(t, s, redis.Options{})
	_, events := collect(t, b, "c")
	require.Equal(t, backend.Event{Kind: backend.EventResubscribed}, <-events)
	require.EqualValues(t, 2, subscribed.Load())
}

// The driver panics at an acknowledgement without a channel.
func TestMalformedAnswerIsAGap(t *testing.T) {
	t.Parallel()
	var subscribed atomic.Int32
	s := newFakeServer(t, func(words []string) string {
		if subscribed.Add(1) == 1 {
			return ack(words) + ">3\r\n$9\r\nsubscribe\r\n:1\r\n$1\r\n1\r\n"
		}
		return ack(words)
	})
	b := connect(t, s, redis.Options{})
	_, events := collect(t, b, "c")
	require.Equal(t, backend.Event{Kind: backend.EventResubscribed}, <-events)
}

func TestSubscribeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := newFakeServer(t, func([]string) string { cancel(); return none })
	b := connect(t, s, redis.Options{ReadTimeout: time.Minute})
	_, err := b.Subscribe(ctx, "c", func(backend.Event) {})
	require.ErrorIs(t, err, context.Canceled)
}

func TestSubscribeAfterClose(t *testing.T) {
	t.Parallel()
	b := over(t, redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}))
	require.NoError(t, b.Close())
	_, err := b.Subscribe(t.Context(), "c", func(backend.Event) {})
	require.ErrorIs(t, err, backend.ErrClosed)
	require.ErrorIs(t, errOf(b.Run(t.Context(), script, []string{"k"}, nil)), backend.ErrClosed)
}
