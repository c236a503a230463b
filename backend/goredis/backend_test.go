package goredisbackend_test

import (
	"context"
	"fmt"
	"net"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/adapter/testdata/adaptertest"
	"github.com/hasp-go/hasp/backend/fanout"
	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/primitives"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer func() { _ = ring.Close() }()
	_, err := goredisbackend.New(ring, nil)
	require.ErrorIs(t, err, backend.ErrNotSupported)
	require.ErrorContains(t, err, "Ring")
	require.ErrorContains(t, adaptertest.ErrOf(goredisbackend.New(nil, nil)), "client is nil")
	require.ErrorContains(t, adaptertest.ErrOf(goredisbackend.New((*redis.Client)(nil), nil)), "client is nil")
	require.ErrorContains(t, adaptertest.ErrOf(goredisbackend.New((*redis.ClusterClient)(nil), nil)), "client is nil")
	_, err = goredisbackend.New(struct{ redis.UniversalClient }{ring}, nil)
	require.ErrorIs(t, err, backend.ErrNotSupported)
	require.ErrorContains(t, err, "without a method Unwrap() redis.UniversalClient")
	require.ErrorContains(t, adaptertest.ErrOf(goredisbackend.New(holder{holder{ring}}, nil)), "Ring")
	require.ErrorContains(t, adaptertest.ErrOf(goredisbackend.New(holder{}, nil)), "client is nil")
}

// holder is an application's wrapper.
type holder struct{ redis.UniversalClient }

func (h holder) Unwrap() redis.UniversalClient { return h.UniversalClient }

func TestWrappedClient(t *testing.T) {
	t.Parallel()
	s := newFakeServer(t, func([]string) string { return ":1\r\n" })
	client := closing(t, redis.NewClient(&redis.Options{Addr: s.Addr, ContextTimeoutEnabled: true}))
	b := over(t, holder{holder{client}})
	require.True(t, b.Capabilities().Deadlines, "those of the client in the wrapper")
	require.NoError(t, adaptertest.ErrOf(b.Run(t.Context(), script, []string{"k"}, nil)))
}

// TestDeadlinesOfTheDriver: by default the driver reads beyond them.
func TestDeadlinesOfTheDriver(t *testing.T) {
	t.Parallel()
	for _, heeded := range []bool{false, true} {
		client := closing(t, redis.NewClient(&redis.Options{ContextTimeoutEnabled: heeded}))
		require.Equal(t, heeded, over(t, client).Capabilities().Deadlines)
	}
}

// over returns a backend over client.
func over(t *testing.T, client redis.UniversalClient) *goredisbackend.Backend {
	t.Helper()
	b := adaptertest.Must(goredisbackend.New(client, nil))(t)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func TestNewClientClosesItsBackend(t *testing.T) {
	t.Parallel()
	s := newFakeServer(t, func([]string) string { return adaptertest.OK })
	conn := redis.NewClient(&redis.Options{Addr: s.Addr})
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	adaptertest.ClientCloses(t, func(o *primitives.Options) (*primitives.Client, error) { return goredisbackend.NewClient(conn, o) },
		func() error { return conn.Ping(t.Context()).Err() })
}

// TestSubscriptionFollowsTheSentinel has a failover that no message announces. The old primary goes on, and answers.
func TestSubscriptionFollowsTheSentinel(t *testing.T) {
	t.Parallel()
	one, two := newFakeServer(t, adaptertest.Ack), newFakeServer(t, adaptertest.Ack)
	var primary atomic.Pointer[adaptertest.Server]
	primary.Store(one)
	sentinel := newFakeServer(t, func(words []string) string {
		switch {
		case strings.EqualFold(words[0], "SUBSCRIBE"):
			return adaptertest.Ack(words)
		case strings.EqualFold(words[1], "get-master-addr-by-name"):
			host, port, _ := net.SplitHostPort(primary.Load().Addr)
			return "*2\r\n" + adaptertest.Bulk(host) + adaptertest.Bulk(port)
		}
		return "*0\r\n"
	})
	client := closing(t, redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "hasp", SentinelAddrs: []string{sentinel.Addr}}))
	events := make(chan backend.Event, 10)
	_, err := over(t, client).Subscribe(t.Context(), "news", func(e backend.Event) { events <- e })
	require.NoError(t, err)
	require.Zero(t, two.Count("news"))
	primary.Store(two)
	select {
	case e := <-events:
		require.Equal(t, backend.EventResubscribed, e.Kind)
	case <-time.After(20 * time.Second): // 15 s, and something for a slow machine
		require.Fail(t, "no gap was reported", "the sentinel was asked %d times", sentinel.Count("get-master"))
	}
	require.Positive(t, two.Count("news"))
}

// TestOptions: each option is heeded.
func TestOptions(t *testing.T) {
	t.Parallel()
	require.Len(t, reflect.VisibleFields(reflect.TypeFor[goredisbackend.Options]()), 4, "here each has its effect")
	s := node(t, func([]string) string { return "-BUSY x\r\n" })
	client := cluster(t, s.Addr, s.Addr, s.Addr, redis.ClusterOptions{})
	_, err := goredisbackend.New(client, &goredisbackend.Options{Sharded: backend.ShardedOff, PubSub: &fanout.Options{Queue: 1}})
	require.ErrorContains(t, err, "Options.PubSub: fanout: Options.Queue is 1")
	b, err := goredisbackend.New(client, &goredisbackend.Options{Sharded: backend.ShardedOn, RefusedFor: -1})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close()) }()
	require.True(t, b.Capabilities().Sharded)
	_, err = b.Run(t.Context(), script, []string{"k"}, nil)
	require.ErrorIs(t, err, backend.ErrUnavailable)
	require.Equal(t, 1, s.Count("EVALSHA"))
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

// Errors name no channel, so they go by the order.
func TestRefusalGoesToItsChannel(t *testing.T) {
	t.Parallel()
	s := newFakeServer(t, func(words []string) string {
		if words[1] == "secret" {
			return "-NOPERM no access to channel\r\n"
		}
		return adaptertest.Ack(words)
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

// TestRefusedUnsubscribe: the refusal is of no subscription that was asked for behind it.
func TestRefusedUnsubscribe(t *testing.T) {
	t.Parallel()
	s := newFakeServer(t, func(words []string) string {
		switch {
		case words[0] == "unsubscribe":
			return none
		case words[1] == "next":
			return "-NOPERM x\r\n"
		}
		return adaptertest.Ack(words)
	})
	b := connect(t, s, redis.Options{})
	sub, _ := collect(t, b, "c")
	_, _ = collect(t, b, "other")
	sub.Cancel()
	require.Eventually(t, func() bool { return s.Count("unsubscribe c\n") == 1 }, 20*time.Second, time.Millisecond)
	next := make(chan error, 1)
	go func() { next <- adaptertest.ErrOf(b.Subscribe(t.Context(), "next", func(backend.Event) {})) }()
	select {
	case err := <-next:
		require.Fail(t, "the refusal is its own", err)
	case <-time.After(200 * time.Millisecond): // It waits for its answer.
	}
	for _, conn := range s.Open() {
		_, _ = conn.Write([]byte(adaptertest.Ack([]string{"subscribe", "next"})))
	}
	require.NoError(t, <-next)
}

// TestWrongAnswerIsAGap: an answer that nobody asked for means that commands and answers no longer match. The driver panics
// at an acknowledgement without a channel.
func TestWrongAnswerIsAGap(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{"+PONG\r\n", ">3\r\n$9\r\nsubscribe\r\n:1\r\n$1\r\n1\r\n"} {
		var subscribed atomic.Int32
		s := newFakeServer(t, func(words []string) string {
			if subscribed.Add(1) == 1 {
				return adaptertest.Ack(words) + wrong
			}
			return adaptertest.Ack(words)
		})
		_, events := collect(t, connect(t, s, redis.Options{}), "c")
		require.Equal(t, backend.Event{Kind: backend.EventResubscribed}, <-events)
		require.EqualValues(t, 2, subscribed.Load())
	}
}
