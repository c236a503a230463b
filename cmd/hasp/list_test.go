//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/hasp-go/hasp/backend"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/inspect"
)

// TestList lists, as a user who may only read, the objects on all primaries of a cluster, and no key of other programs.
func TestList(t *testing.T) {
	t.Parallel()
	servers.Need(t, servers.Redis)
	c := servers.StartCluster(t, servers.Redis, 3, nil)
	for _, s := range c.Nodes {
		paste(t, s, "", 2)
	}
	on := func(key string, words ...string) {
		owner := must(c.Owner(backend.Slot(key)))(t)
		do(t, c.Nodes[owner], words...)
	}
	var want []string
	for i := range 30 {
		name := fmt.Sprint("app:", i)
		on(name, "HSET", name, "0123:1", "1")
		on(name, "SET", "redisson_lock_token:{"+name+"}", "7")
		on("free"+name, "SET", "redisson_lock_token:{free"+name+"}", "7")
		on("text"+name, "SET", "text"+name, "1")
		on("hash"+name, "HSET", "hash"+name, "field", "text")
		on("list"+name, "RPUSH", "list"+name, "element")
		on("zset"+name, "ZADD", "zset"+name, "9999999999999", "member:1")
		want = append(want, fmt.Sprint(i))
	}
	slices.Sort(want)
	list := func(args ...string) (names []string) {
		h := start(t, []string{"HASP_URL=redis://reader:PASSWORD@" + c.Nodes[0].Addr() + "," + c.Nodes[1].Addr()},
			append([]string{"list", "--output", "json"}, args...)...)
		require.Zero(t, h.code(t), h.errors)
		for line := range strings.Lines(h.output.String()) {
			var o inspect.Object
			require.NoError(t, json.Unmarshal([]byte(line), &o))
			require.Equal(t, inspect.Lock, o.Kind)
			names = append(names, o.Name)
		}
		slices.Sort(names)
		return names
	}
	require.Equal(t, want, list("--prefix", "app:"))
	require.Len(t, list(), 60, "also those that are free")
	require.Equal(t, []string{"app:7", "freeapp:7"}, list("*:7"))
}

// TestWatch watches, as a user who may only read and subscribe, how a mutex goes from one hasp to another.
func TestWatch(t *testing.T) {
	t.Parallel()
	for _, kind := range []servers.Kind{servers.Redis, servers.Valkey} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			server := servers.Start(t, kind, nil)
			rights := []string{"on", "nopass", "~*", "resetchannels", "-@all", "+@read", "+evalsha_ro", "+script|load", "+time", "+hello", "+ping", "+subscribe", "+unsubscribe"}
			for user, channels := range map[string]string{"deaf": "&other", "reader": "&hasp_mutex:*"} {
				do(t, server, append(append([]string{"ACL", "SETUSER", user}, rights...), channels)...)
			}
			watch := start(t, []string{"HASP_URL=redis://reader:any@" + server.Addr()}, "watch", "x", "--output", "json")
			deaf := start(t, []string{"HASP_URL=redis://deaf:any@" + server.Addr()}, "watch", "x", "y")
			await := func(n int) []string { t.Helper(); return awaitEvents(t, watch, n) }
			require.Equal(t, []string{"gone "}, await(1))
			eventually(t, func() bool { return strings.Count(deaf.output.String(), "\tgone\n") == 2 }) // or it may begin too late for the first events
			hold := []string{"lock", "x", "--kind", "mutex", "--", "sleep", "1000"}
			first := start(t, []string{onServer(server.Addr())}, hold...)
			one := strings.TrimPrefix(await(2)[1], "acquired ")
			second := start(t, []string{onServer(server.Addr())}, hold...)
			two := strings.TrimPrefix(await(3)[2], "waiting ")
			polled := func(kind, owner string) {
				eventually(t, func() bool { return strings.Contains(deaf.output.String(), "\tx\t"+kind+"\t"+owner+"\n") })
			}
			polled("waiting", two)
			first.signal(t, syscall.SIGINT)
			await(4)
			polled("handed over", two)
			second.signal(t, syscall.SIGINT)
			require.Equal(t, []string{"gone ", "acquired " + one, "waiting " + two, "handed over " + two, "released " + two}, await(5))
			require.NotEqual(t, one, two)

			polled("released", two)
			require.Regexp(t, `(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\ty\tgone$`, deaf.output.String())
			eventually(t, func() bool { return deaf.errors.String() != "" })
			require.Regexp(t, `^hasp: watch object "x" without messages: .*NOPERM[^\n]*\n$`, deaf.errors.String())
			require.Empty(t, watch.errors.String())
			for _, h := range []*hasp{watch, deaf} {
				h.signal(t, syscall.SIGINT)
				require.Equal(t, -1, h.code(t))
			}
		})
	}
}

// awaitEvents waits until there are so many lines, and returns their events. It leaves out gaps, of messages that came
// before the subscription.
func awaitEvents(t *testing.T, h *hasp, n int) (events []string) {
	t.Helper()
	eventually(t, func() bool {
		events = nil
		for line := range strings.Lines(h.output.String()) {
			var e struct{ Kind, Owner string }
			if json.Unmarshal([]byte(line), &e) == nil && e.Kind != "gap" {
				events = append(events, e.Kind+" "+e.Owner)
			}
		}
		return len(events) >= n
	})
	return events
}

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
	_ = must(c.NewRateLimiter("app:rate", primitives.Rate{}, &primitives.RateLimiterOptions{Unavailable: primitives.Refuse(), Timeout: time.Hour}).InitRate(t.Context(), primitives.Rate{Permits: 1, Interval: time.Hour}))(t)
	_ = must(c.NewIDGenerator("app:ids").Init(t.Context(), 1, 2))(t)
	names = strings.Fields("app:lock app:read app:slot app:mutex app:fair app:permits app:latch app:rate app:ids")
	return names, strings.Fields("redisson_lock__channel:{app:lock} redisson_rwlock:{app:read} hasp_semaphore:{app:slot} " +
		"redisson_sc:{app:permits} hasp_rate_limiter:{app:rate} redisson_countdownlatch__channel__{app:latch}")
}

// TestRecipes runs the command lines of the recipes as they are written, on two hosts each, and compares their times.
func TestRecipes(t *testing.T) {
	t.Parallel()
	read := func(file string) string { return string(must(os.ReadFile("../../docs/command/" + file))(t)) }
	var manifest struct {
		Kind string
		Spec struct {
			JobTemplate struct {
				Spec struct {
					Template struct {
						Spec struct {
							RestartPolicy string `yaml:"restartPolicy"`
							Ends          string `yaml:"terminationGracePeriodSeconds"`
							Containers    []struct{ Command []string }
						}
					}
				}
			} `yaml:"jobTemplate"`
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(read("cronjob.yaml")), &manifest))
	pod := manifest.Spec.JobTemplate.Spec.Template.Spec
	require.Equal(t, []string{"CronJob", "Never"}, []string{manifest.Kind, pod.RestartPolicy})
	unit := regexp.MustCompile(`(?s)ExecStart=/usr/bin/(.*?)\n.*KillMode=mixed\nTimeoutStopSec=(\d+)`).FindStringSubmatch(read("report.service"))
	for name, c := range map[string]struct {
		words []string
		ends  string // in seconds
	}{"Kubernetes": {pod.Containers[0].Command, pod.Ends}, "Systemd": {strings.Fields(unit[1]), unit[2]}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			grace := must(time.ParseDuration(c.words[slices.Index(c.words, "--grace")+1]))(t)
			require.Greater(t, must(time.ParseDuration(c.ends+"s"))(t), grace)
			server, work, dir := startServer(t), newShared(t), t.TempDir()
			require.Equal(t, "hasp", filepath.Base(c.words[0]))
			require.NoError(t, os.Symlink(must(os.Executable())(t), filepath.Join(dir, c.words[len(c.words)-1])))
			for range 2 {
				cmd := exec.CommandContext(t.Context(), binary, c.words[1:]...)
				cmd.Dir, cmd.Env = dir, append(append(os.Environ(), work.env("brief")...), onServer(server.Addr()))
				require.Empty(t, string(must(cmd.CombinedOutput())(t)))
			}
			require.NotEmpty(t, work.owners(t))
			require.EqualValues(t, 1, exist(t, server, "{report}:completed"))
		})
	}
}

// TestServe: the page of an object gets what happens to it, in order, and its button frees it.
func TestServe(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	address, serve := served(t, server, "m")
	next := happenings(t, address+"live?name=m")
	require.Equal(t, "gone", next().Kind)

	_, owner := holding(t, server, []string{"lock", "m", "--kind", "mutex"})
	require.Equal(t, happening{"acquired", owner}, next())
	for _, c := range []struct {
		name, owner string
		code        int
	}{{"m", "another", http.StatusConflict}, {"m", owner, http.StatusOK}, {"not-named", owner, http.StatusNotFound}} {
		freed := must(release(t, address, url.Values{"kind": {"mutex"}, "name": {c.name}, "owner": {c.owner}}))(t)
		require.Equal(t, c.code, freed)
	}
	require.Equal(t, happening{"released", owner}, next())
	require.Regexp(t, `^20\d\d/\S+ \S+ hasp: release of the mutex "m", held by "another", for 127.0.0.1: freed: false, error: <nil>\n`+
		`[^\n]*"`+owner+`"[^\n]*freed: true[^\n]*\n$`, serve.errors.String())

	second := ended(t, 70, onServer(server.Addr()), "serve", "m", "--listen", must(url.Parse(address))(t).Host)
	require.Contains(t, second.errors.String(), "address already in use")
}

// TestServeFindsAll: without names the page has all objects, those that come later, too; with --plain also a latch, which
// is a text as others store it.
func TestServeFindsAll(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	address, _ := served(t, server, "--plain")
	lines := stream(t, address+"live")
	for _, args := range []string{"lock first -- sleep 1000", "slot second -n 2 -- sleep 1000", "latch init third 3"} {
		start(t, []string{onServer(server.Addr())}, words(args)...)
	}
	for missing := map[string]bool{`data: "first"`: true, `data: "second"`: true, `data: "third"`: true}; len(missing) > 0; {
		require.True(t, lines.Scan(), "%v: %v", missing, lines.Err())
		delete(missing, lines.Text())
	}
	metrics := stream(t, address+"metrics")
	for metrics.Scan() && !strings.HasPrefix(metrics.Text(), "hasp_page_reads_total ") {
	}
	require.Regexp(t, "^hasp_page_reads_total [1-9]", metrics.Text(), "the list takes its turns")
}

// served starts hasp serve, and returns its address.
func served(t *testing.T, server *servers.Server, args ...string) (address string, h *hasp) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(secret), 0o600))
	h = start(t, []string{onServer(server.Addr())}, append([]string{"serve", "--listen", "127.0.0.1:0", "--allow-release", "--token-file", file}, args...)...)
	eventually(t, func() bool { return strings.HasSuffix(h.output.String(), "/\n") })
	return strings.TrimSpace(h.output.String()), h
}

// happening is an event on the page.
type happening struct{ Kind, Owner string }

// stream returns the lines of a stream of events.
func stream(t *testing.T, address string) *bufio.Scanner {
	t.Helper()
	request := must(http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))(t)
	request.Header.Set("Authorization", "Bearer "+secret)
	answer := must(http.DefaultClient.Do(request))(t)
	t.Cleanup(func() { _ = answer.Body.Close() })
	return bufio.NewScanner(answer.Body)
}

// happenings returns what reads the next event of a stream.
func happenings(t *testing.T, address string) func() happening {
	t.Helper()
	lines := stream(t, address)
	return func() (h happening) {
		event := ""
		for lines.Scan() {
			if data, is := strings.CutPrefix(lines.Text(), "data: "); is && event == "event: happened" {
				require.NoError(t, json.Unmarshal([]byte(data), &h))
				return h
			}
			event = lines.Text()
		}
		require.NoError(t, lines.Err())
		return h
	}
}

// release asks the page to free a lock, as its button does.
func release(t *testing.T, address string, form url.Values) (code int, err error) {
	t.Helper()
	request := must(http.NewRequestWithContext(t.Context(), http.MethodPost, address+"release", strings.NewReader(form.Encode())))(t)
	request.Header.Set("Authorization", "Bearer "+secret)
	request.Header.Set("Origin", strings.TrimSuffix(address, "/"))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}
