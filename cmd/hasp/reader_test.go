//go:build unix

package main

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// paste gives a server the first n commands for a reader of docs/operate/acl.md, for names with the prefix.
func paste(t *testing.T, s *servers.Server, prefix string, n int) {
	t.Helper()
	page := string(must(os.ReadFile("../../docs/operate/acl.md"))(t))
	all := regexp.MustCompile(`(?m)^ACL SETUSER reader .*$`).FindAllString(page, -1)
	require.Len(t, all, 2)
	for _, command := range all[:n] {
		do(t, s, strings.Fields(strings.ReplaceAll(command, "app:", prefix))...)
	}
}

// TestReader: a user with the page's permissions lists, inspects, watches and serves objects of all kinds, is refused
// nothing on the way, and may change nothing.
func TestReader(t *testing.T) {
	t.Parallel()
	for _, kind := range []servers.Kind{servers.Redis, servers.Valkey} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			server := servers.Start(t, kind, nil)
			paste(t, server, "app:", 1)
			names, channels := furnish(t, server)
			reads := "HASP_URL=redis://reader:PASSWORD@" + server.Addr()
			listed := ended(t, 0, reads, "list", "--plain", "app:*")
			for _, name := range names {
				require.Contains(t, listed.output.String(), name)
			}
			ended(t, 0, reads, append([]string{"inspect"}, names...)...)
			watch := start(t, []string{reads}, append([]string{"watch"}, names...)...)
			served := start(t, []string{reads}, "serve", "--listen", "127.0.0.1:0")
			eventually(t, func() bool { return strings.HasSuffix(served.output.String(), "/\n") })
			lines := stream(t, strings.TrimSpace(served.output.String())+"live")
			for !strings.HasPrefix(lines.Text(), `data: "app:`) {
				require.True(t, lines.Scan(), lines.Err())
			}
			for _, channel := range channels {
				eventually(t, func() bool {
					return must(must(must(server.Do("PUBSUB", "NUMSUB", channel))(t).Items())(t)[1].Int())(t) > 0
				})
			}
			watch.signal(t, syscall.SIGINT)
			watch.code(t)
			require.Empty(t, watch.errors.String())
			require.Empty(t, served.errors.String())
			for _, refusal := range must(must(server.Do("ACL", "LOG"))(t).Items())(t) {
				object := must(must(refusal.Items())(t)[7].Text())(t)
				require.Regexp(t, `^(cluster\|.*|client\|setinfo)$`, object, "the driver asks for a cluster, and names itself")
			}

			conn := must(rueidis.NewClient(rueidis.ClientOption{
				InitAddress: []string{server.Addr()}, Username: "reader", Password: "PASSWORD", DisableCache: true,
			}))(t)
			defer conn.Close()
			for _, words := range []string{"SET app:x 1", "DEL app:lock", "PUBLISH hasp_mutex:{app:mutex} x", "GET other", "TYPE other"} {
				require.ErrorContains(t, conn.Do(t.Context(), conn.B().Arbitrary(strings.Fields(words)...).Build()).Error(), "NOPERM", words)
			}
		})
	}
}

// TestCheckOfAReader: a check finds each permission that the page lists for a reader, if it is missing, and no other.
func TestCheckOfAReader(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	env := "HASP_URL=redis://reader:PASSWORD@" + server.Addr()
	paste(t, server, "app:", 1)
	require.Regexp(t, `(?m)^ok +rights +app:x `, checked(t, 0, env, "--kind", "inspect", "app:x"))
	page := string(must(os.ReadFile("../../docs/operate/acl.md"))(t))
	rules := strings.Fields(regexp.MustCompile(`(?m)^ACL SETUSER reader .*$`).FindString(page))[7:]
	others := regexp.MustCompile(`^(%R~\w+:app:|&\w+[:_]app:|&.*{{|-@all)`) // for names with braces
	drivers := regexp.MustCompile(`^\+(client|hello|ping|script)`)
	for i, rule := range rules {
		if drivers.MatchString(rule) {
			continue
		}
		do(t, server, append(strings.Fields("ACL SETUSER reader reset on >PASSWORD"), slices.Delete(slices.Clone(rules), i, i+1)...)...)
		if others.MatchString(rule) {
			checked(t, 0, env, "--kind", "inspect", "app:x")
			continue
		}
		text := checked(t, 1, env, "--kind", "inspect", "app:x")
		require.Regexp(t, `(?m)^FAIL +right +`+regexp.QuoteMeta(rule)+` +needed by inspect: `, text)
		require.Equal(t, 1, strings.Count(text, "FAIL"), text)
	}
	do(t, server, append(strings.Fields("ACL SETUSER reader reset on >PASSWORD"), append(rules, "-pttl")...)...)
	h := ended(t, 77, env, "inspect", "app:x")
	require.Contains(t, h.errors.String(), "grant it by ACL SETUSER <user> +pttl\n")
}

// furnish makes objects on a server, and returns their names, and the channels that a watch of them hears.
func furnish(t *testing.T, s *servers.Server) (names, channels []string) {
	t.Helper()
	conn := must(rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr()}}))(t)
	c := must(rueidisbackend.NewClient(conn, nil))(t)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	hold := func(_ *primitives.Lease, err error) { require.NoError(t, err) }
	hold(c.NewLock("app:lock", &primitives.LockOptions{Metadata: "text"}).Lock(t.Context()))
	hold(c.NewReadWriteLock("app:read", nil).ReadLock().Lock(t.Context()))
	hold(c.NewCountingSemaphore("app:slot", 1, &primitives.CountingSemaphoreOptions{Order: primitives.ByArrival}).Acquire(t.Context()))
	for _, lock := range []primitives.Locker{c.NewMutex("app:mutex", nil), c.NewFairLock("app:fair", nil)} {
		hold(lock.Lock(t.Context()))
		go func() { _, _ = lock.Lock(t.Context()) }()
	}
	_ = must(c.NewPermitSemaphore("app:permits", nil).InitPermits(t.Context(), 2))(t)
	_ = must(c.NewPartsLatch("app:latch").Init(t.Context(), 2, time.Hour))(t)
	_ = must(c.NewRateLimiter("app:rate", primitives.Rate{}, &primitives.RateLimiterOptions{Unavailable: primitives.Refuse()}).InitRate(t.Context(), primitives.Rate{Permits: 1, Interval: time.Hour}))(t)
	_ = must(c.NewIDGenerator("app:ids").Init(t.Context(), 1, 2))(t)
	names = strings.Fields("app:lock app:read app:slot app:mutex app:fair app:permits app:latch app:rate app:ids")
	return names, strings.Fields("redisson_lock__channel:{app:lock} redisson_rwlock:{app:read} hasp_semaphore:{app:slot} " +
		"redisson_sc:{app:permits} hasp_rate_limiter:{app:rate} redisson_countdownlatch__channel__{app:latch}")
}
