package goredisbackend_test

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
)

// TestSubscriptionFollowsTheSentinel has a failover that no message announces. The old primary goes on, and answers.
func TestSubscriptionFollowsTheSentinel(t *testing.T) {
	t.Parallel()
	texts := func(kind string, words ...string) string {
		for i, word := range words {
			words[i] = fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
		}
		return kind + strings.Join(words, "")
	}
	subscribed := func(words []string) string { return texts(">3\r\n", "subscribe", words[1]) + ":1\r\n" }
	one, two := newFakeServer(t, subscribed), newFakeServer(t, subscribed)
	var primary atomic.Pointer[fakeServer]
	primary.Store(one)
	sentinel := newFakeServer(t, func(words []string) string {
		switch {
		case strings.EqualFold(words[0], "SUBSCRIBE"):
			return subscribed(words)
		case strings.EqualFold(words[1], "get-master-addr-by-name"):
			host, port, _ := net.SplitHostPort(primary.Load().addr)
			return texts("*2\r\n", host, port)
		}
		return "*0\r\n"
	})
	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "hasp", SentinelAddrs: []string{sentinel.addr}})
	t.Cleanup(func() { _ = client.Close() })
	events := make(chan backend.Event, 10)
	_, err := over(t, client).Subscribe(t.Context(), "news", func(e backend.Event) { events <- e })
	require.NoError(t, err)
	require.Zero(t, two.count("news"))
	primary.Store(two)
	select {
	case e := <-events:
		require.Equal(t, backend.EventResubscribed, e.Kind)
	case <-time.After(20 * time.Second): // 15 s, and something for a slow machine
		require.Fail(t, "no gap was reported", "the sentinel was asked %d times", sentinel.count("get-master"))
	}
	require.Positive(t, two.count("news"))
}
