package idempotency

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
)

// columns are the peers in the order of the table.
var columns = []string{"hasp", "fiber", "fiber, redsync"}

// rows are what happens, in the order of the table.
var rows = []struct {
	happens string
	see     func(s *service) string
}{
	{"two requests at once, on one process", func(s *service) string { return s.twoAtOnce(s.one, s.one, 5*time.Second) }},
	{"on two processes", func(s *service) string { return s.twoAtOnce(s.one, s.other, 5*time.Second) }},
	{"on two, for 15 s", func(s *service) string { return s.twoAtOnce(s.one, s.other, 15*time.Second) }},
	{"`kill -9` in mid-work, then a retry", (*service).crash},
	{"another body", func(s *service) string { return s.again("ann", "9999", "201 10") }},
	{"another user's same key", func(s *service) string { return s.again("bob", "1250", "201 10") }},
	{"status 500, then a retry", func(s *service) string { return s.again("ann", "1250", "500 10") }},
	{"2 MiB, then a retry", func(s *service) string { return s.again("ann", "1250", "201 2097152") }},
	{"`Set-Cookie`", (*service).cookie},
}

// TestCompared compares what happens with the table that docs/comparison.md has. HASP_IDEMPOTENCY=write writes it.
func TestCompared(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for locks of 30 s")
	}
	seen := make([][]string, len(rows))
	for i := range seen {
		seen[i] = make([]string, len(columns))
	}
	t.Run("Peers", func(t *testing.T) {
		for column, name := range columns {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for i, row := range rows {
					seen[i][column] = row.see(newService(t, name))
				}
			})
		}
	})
	table := "||" + strings.Join(columns, "|") + "|\n|" + strings.Repeat("---|", len(columns)+1) + "\n"
	for i, row := range rows {
		table += "|" + row.happens + "|" + strings.Join(seen[i], "|") + "|\n"
	}
	if os.Getenv("HASP_IDEMPOTENCY") == "write" {
		require.NoError(t, os.WriteFile("testdata/table.md", []byte(table), 0o600))
	}
	want, err := os.ReadFile("testdata/table.md")
	require.NoError(t, err)
	require.Equal(t, string(want), table)
}

// service is two processes of a service, on a Redis of their own.
type service struct {
	t          *testing.T
	one, other string
	kill       func() // the first process
	ledger     *redis.Client
}

func newService(t *testing.T, name string) *service {
	t.Helper()
	addr := servers.Start(t, servers.Redis, nil).Addr()
	s := &service{t: t, ledger: redis.NewClient(&redis.Options{Addr: addr})}
	t.Cleanup(func() { _ = s.ledger.Close() })
	s.one, s.kill = process(t, name, addr)
	s.other, _ = process(t, name, addr)
	return s
}

func (s *service) charges() int {
	n, _ := s.ledger.Get(s.t.Context(), "charges").Int()
	return n
}

// answer says what runs answer, each of so many.
func (s *service) answer(runs int, said string) {
	for range runs {
		require.NoError(s.t, s.ledger.RPush(s.t.Context(), "answers", said).Err())
	}
}

// reply is a response. Without one the status is 0.
type reply struct {
	status int
	size   int
	cookie string
}

func (s *service) post(url, user, body string) <-chan reply {
	done := make(chan reply, 1)
	go func() {
		r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			panic(err)
		}
		r.Header.Set("User", user)
		r.Header.Set("Idempotency-Key", "8e03978e-40d5-43e8-bc93-6894a57f9324")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			done <- reply{}
			return
		}
		defer response.Body.Close()
		read, _ := io.ReadAll(response.Body)
		done <- reply{response.StatusCode, len(read), response.Header.Get("Set-Cookie")}
	}()
	return done
}

// until waits until so many charges were booked.
func (s *service) until(charges int, most time.Duration) bool {
	for begin := time.Now(); time.Since(begin) < most; time.Sleep(10 * time.Millisecond) {
		if s.charges() == charges {
			return true
		}
	}
	return false
}

// twoAtOnce sends a second request while the first runs.
func (s *service) twoAtOnce(one, other string, takes time.Duration) string {
	first := s.post(one, "ann", "1250")
	require.True(s.t, s.until(1, time.Minute))
	second := s.post(other, "ann", "1250")
	s.until(2, takes) // or the second has its answer, or waits for the first
	early := len(second) > 0
	s.answer(2, "201 10")
	require.Equal(s.t, http.StatusCreated, (<-first).status)
	switch r := <-second; {
	case s.charges() == 2:
		return "both run"
	case early:
		return fmt.Sprintf("one runs; %d", r.status)
	case r.status == http.StatusCreated:
		return "one runs; waits"
	default:
		return fmt.Sprintf("one runs; waits for %d", r.status)
	}
}

// crash kills the first process in mid-work.
func (s *service) crash() string {
	s.post(s.one, "ann", "1250")
	require.True(s.t, s.until(1, time.Minute))
	s.kill()
	s.answer(9, "201 10")
	begin := time.Now()
	for time.Since(begin) < 2*time.Minute {
		if r := <-s.post(s.other, "ann", "1250"); r.status == http.StatusCreated {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	switch took := time.Since(begin); {
	case took < 4*time.Second:
		return "runs at once"
	case took < 16*time.Second:
		return "runs within 8 s"
	case took < time.Minute:
		return "runs within 30 s"
	}
	return "does not run"
}

// again sends a request, and then another one.
func (s *service) again(user, body, said string) string {
	s.answer(2, said)
	first := <-s.post(s.one, "ann", "1250")
	second := <-s.post(s.other, user, body)
	switch {
	case s.charges() == 2:
		return "runs"
	case second == first, second.status == first.status && second.size == first.size:
		return "replay"
	}
	return fmt.Sprint(second.status)
}

// cookie asks again, and reports whether the answer has the first one's cookie.
func (s *service) cookie() string {
	s.answer(2, "201 10")
	<-s.post(s.one, "ann", "1250")
	if second := <-s.post(s.other, "ann", "1250"); second.cookie != "" {
		return "replay"
	}
	return "left out"
}
