package repro

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
	"github.com/valkey-io/valkey-go"

	"github.com/hasp-go/hasp/backend"
	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	valkeybackend "github.com/hasp-go/hasp/backend/valkey"
	"github.com/hasp-go/hasp/conformance/servers"
)

// sentinel names the primary, and no more.
type sentinel struct {
	addr string

	mu      sync.Mutex
	primary string
	silent  bool // it does not announce who is the primary now
	subs    map[net.Conn]bool
}

func newSentinel(t *testing.T, primary string) *sentinel {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &sentinel{
		addr: listener.Addr().String(), primary: primary, subs: map[net.Conn]bool{},
	}
	var work sync.WaitGroup
	t.Cleanup(func() { _ = listener.Close(); work.Wait() })
	work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			work.Go(func() { s.serve(conn) })
		}
	})
	return s
}

func (s *sentinel) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	for {
		words, err := readWords(in)
		if err != nil {
			return
		}
		s.mu.Lock()
		_, err = io.WriteString(conn, s.answer(conn, words))
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// readWords reads a command: an array of bulk strings.
func readWords(in *bufio.Reader) ([]string, error) {
	head, err := in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(head[1:]))
	if err != nil {
		return nil, err
	}
	words := make([]string, n)
	for i := range words {
		if _, err := in.ReadString('\n'); err != nil {
			return nil, err
		}
		word, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		words[i] = strings.TrimSpace(word)
	}
	return words, nil
}

// answer is the reply to a command. The caller holds mu.
func (s *sentinel) answer(conn net.Conn, words []string) string {
	host, port, _ := net.SplitHostPort(s.primary)
	switch verb := strings.ToLower(words[0]); verb {
	case "sentinel":
		if strings.EqualFold(words[1], "get-master-addr-by-name") {
			return array(host, port)
		}
		return "*0\r\n"
	case "client", "auth", "select":
		return "+OK\r\n"
	case "ping":
		return "+PONG\r\n"
	case "subscribe", "psubscribe":
		s.subs[conn] = true
		var out strings.Builder
		for i, channel := range words[1:] {
			fmt.Fprintf(&out, "*3\r\n%s%s:%d\r\n", bulk(verb), bulk(channel), i+1)
		}
		return out.String()
	case "role":
		return "*2\r\n" + bulk("sentinel") + array("hasp")
	case "hello":
		return "*6\r\n" + bulk("version") + bulk("7.0.15") + bulk("proto") + ":2\r\n" +
			bulk("mode") + bulk("sentinel")
	}
	return "-ERR unknown command\r\n"
}

func bulk(word string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(word), word) }

func array(words ...string) string {
	out := fmt.Sprintf("*%d\r\n", len(words))
	for _, word := range words {
		out += bulk(word)
	}
	return out
}

// promote makes to the primary. Nobody touches the old one.
func (s *sentinel) promote(to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := strings.Replace(s.primary, ":", " ", 1)
	s.primary = to
	if s.silent {
		return
	}
	payload := "hasp " + from + " " + strings.Replace(to, ":", " ", 1)
	for conn := range s.subs {
		_, _ = io.WriteString(conn, array("message", "+switch-master", payload))
	}
}

// ofSentinel are backends of what a sentinel at an address names, by the driver.
var ofSentinel = map[string]func(t *testing.T, addr string) backend.Backend{
	"goredis": func(t *testing.T, addr string) backend.Backend {
		t.Helper()
		client := redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: "hasp", SentinelAddrs: []string{addr}, Protocol: 2,
		})
		t.Cleanup(func() { _ = client.Close() })
		b, err := goredisbackend.New(client, nil)
		require.NoError(t, err)
		return b
	},
	"rueidis": func(t *testing.T, addr string) backend.Backend {
		t.Helper()
		client, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{addr}, AlwaysRESP2: true, DisableCache: true,
			Sentinel: rueidis.SentinelOption{MasterSet: "hasp"},
		})
		require.NoError(t, err)
		t.Cleanup(client.Close)
		b, err := rueidisbackend.New(client, nil)
		require.NoError(t, err)
		return b
	},
	"valkey": func(t *testing.T, addr string) backend.Backend {
		t.Helper()
		client, err := valkey.NewClient(valkey.ClientOption{
			InitAddress: []string{addr}, AlwaysRESP2: true, DisableCache: true,
			Sentinel: valkey.SentinelOption{MasterSet: "hasp"},
		})
		require.NoError(t, err)
		t.Cleanup(client.Close)
		b, err := valkeybackend.New(client, nil)
		require.NoError(t, err)
		return b
	},
}

// S2: after a failover the handler gets a Resubscribed event within 15 s. The old primary lives on,
// cut off from its sentinels and replicas, but not from the client.
func TestSubscriptionFollowsTheSentinel(t *testing.T) {
	t.Parallel()
	for name, open := range ofSentinel {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			followsTheSentinel(t, open, false)
		})
	}
}

// TestSubscriptionFollowsAMissedMessage does not announce the failover. Of the drivers go-redis's
// asks again by itself.
func TestSubscriptionFollowsAMissedMessage(t *testing.T) {
	t.Parallel()
	followsTheSentinel(t, ofSentinel["goredis"], true)
}

func followsTheSentinel(
	t *testing.T, open func(t *testing.T, addr string) backend.Backend, silent bool,
) {
	t.Helper()
	one, two := servers.Start(t, servers.Redis, nil), servers.Start(t, servers.Redis, nil)
	s := newSentinel(t, one.Addr())
	s.silent = silent
	b := open(t, s.addr)
	events := make(chan backend.Event, 100)
	_, err := b.Subscribe(t.Context(), "news", func(e backend.Event) { events <- e })
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close()) }()
	_, err = one.Do("PUBLISH", "news", "before")
	require.NoError(t, err)
	require.Equal(t, backend.Event{Payload: "before"}, <-events)

	s.promote(two.Addr())
	select {
	case e := <-events:
		require.Equal(t, backend.Resubscribed, e.Kind)
	case <-time.After(20 * time.Second): // 15 s, and something for a slow machine
		requireListeners(t, one, 1)
		t.Fatal("neither a message nor a gap was reported, and the old primary is listened to")
	}
	_, err = one.Do("PING")
	require.NoError(t, err, "the old primary was to live on")
	_, err = two.Do("PUBLISH", "news", "after")
	require.NoError(t, err)
	require.Equal(t, backend.Event{Payload: "after"}, <-events)

	// What the client sends goes to the same server.
	where := backend.NewScript(
		"where", "return redis.call('set', KEYS[1], '1')", 1, backend.Repeatable)
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := b.Run(ctx, where, []string{"k"}, nil)
		reply, getErr := two.Do("GET", "k")
		return err == nil && getErr == nil && !reply.IsNil()
	}, 20*time.Second, 50*time.Millisecond)
}

func requireListeners(t *testing.T, s *servers.Server, want int64) {
	t.Helper()
	reply, err := s.Do("PUBSUB", "NUMSUB", "news")
	require.NoError(t, err)
	pair, err := reply.Tuple(2)
	require.NoError(t, err)
	n, err := pair[1].Int()
	require.NoError(t, err)
	require.Equal(t, want, n)
}
