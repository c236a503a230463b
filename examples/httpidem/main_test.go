package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/primitives"
)

func TestOnTheEmbeddedServer(t *testing.T) {
	t.Parallel()
	s := hasptest.New(t)
	chargesOnce(t, s.Client(nil), s.Client(nil))
}

func TestOnRedis(t *testing.T) {
	t.Parallel()
	addr := servers.Start(t, servers.Redis, nil).Addr()
	chargesOnce(t, connect(t, addr), connect(t, addr))
}

// chargesOnce has two processes answer: while the first runs, whose client is cut off in mid-run, after a failure, and
// with an answer of any bytes.
func chargesOnce(t *testing.T, clients ...*primitives.Client) {
	t.Helper()
	var charges atomic.Int32
	entered, leave := make(chan struct{}), make(chan int)
	urls := make([]string, len(clients))
	for i, client := range clients {
		handler, err := newHandler(client, func(w http.ResponseWriter, _ *http.Request) {
			charges.Add(1)
			entered <- struct{}{}
			w.WriteHeader(<-leave)
			_, _ = io.WriteString(w, "\x00\r\ncharged\xff")
		})
		require.NoError(t, err)
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		urls[i] = server.URL
	}
	for run, status := range []int{http.StatusInternalServerError, http.StatusCreated} {
		ctx, cut := context.WithCancel(t.Context())
		first := make(chan struct{})
		go func() {
			defer close(first)
			for post(ctx, urls[run], "1250").status == http.StatusConflict { // The run before has not ended.
			}
		}()
		<-entered
		for _, url := range urls {
			require.Equal(t, http.StatusConflict, post(t.Context(), url, "1250").status)
			require.Equal(t, http.StatusUnprocessableEntity, post(t.Context(), url, "9999").status)
		}
		cut()
		<-first
		leave <- status
	}
	require.Eventually(t, func() bool { // until it is stored
		return post(t.Context(), urls[0], "1250").status != http.StatusConflict
	}, time.Minute, time.Millisecond)
	for _, url := range urls {
		require.Equal(t, answer{http.StatusCreated, "\x00\r\ncharged\xff", "true"}, post(t.Context(), url, "1250"))
	}
	require.EqualValues(t, 2, charges.Load())
}

type answer struct {
	status         int
	body, replayed string
}

// post asks until the server of the keys has answered in time: the machine may be busy.
func post(ctx context.Context, url, cents string) (a answer) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // Then there is no status.
	defer cancel()
	for a.status = http.StatusServiceUnavailable; a.status == http.StatusServiceUnavailable; a = postOnce(ctx, url, cents) {
	}
	return a
}

func postOnce(ctx context.Context, url, cents string) answer {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(cents))
	if err != nil {
		panic(err)
	}
	r.SetBasicAuth("ann", "secret")
	r.Header.Set("Idempotency-Key", "8e03978e")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{}
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return answer{response.StatusCode, string(body), response.Header.Get("Idempotent-Replayed")}
}

func connect(t *testing.T, addr string) *primitives.Client {
	t.Helper()
	conn := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	client, err := goredisbackend.NewClient(conn, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close(context.Background())) })
	return client
}
