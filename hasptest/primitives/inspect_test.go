package primitives_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/inspect"
)

// stage is where a scene brings what is called x into a state.
type stage struct {
	*testing.T
	s *server
	c *primitives.Client
}

// hold acquires x, and has n others wait for it.
func (a stage) hold(lock func(context.Context) (*primitives.Lease, error), n int) *primitives.Lease {
	a.Helper()
	lease := must(lock(a.Context()))(a.T)
	for range n {
		time.Sleep(time.Second)
		go lock(a.Context())
		synctest.Wait()
	}
	return lease
}

// lockScenes are states of each lock. alien are the commands by which another program holds it.
var lockScenes = map[string]func(a stage, l revocable, alien []string){
	"held": func(a stage, l revocable, _ []string) { a.hold(l.Lock, 0); time.Sleep(time.Second) },
	"free": func(a stage, l revocable, _ []string) { require.NoError(a, a.hold(l.Lock, 0).Release(a.Context())) },
	"revoked": func(a stage, l revocable, _ []string) {
		requireRevoked(a.T, l, a.hold(l.Lock, 0).Owner(), 30*time.Second)
		time.Sleep(time.Second)
	},
	"1 waits":            func(a stage, l revocable, _ []string) { a.hold(l.Lock, 1); time.Sleep(10 * time.Millisecond) },
	"12 wait":            func(a stage, l revocable, _ []string) { a.hold(l.Lock, 12) },
	"1 waits long":       func(a stage, l revocable, _ []string) { a.hold(l.Lock, 1); time.Sleep(61500 * time.Millisecond) },
	"of another program": func(a stage, _ revocable, alien []string) { a.s.do(append(alien, "PING")[:max(1, len(alien))]...) },
}

// scenes are further states, by the constructor of what is in them.
var scenes = map[string]map[string]func(a stage){
	"Lock": {
		"with metadata": func(a stage) {
			a.hold(a.c.NewLock("x", &primitives.LockOptions{Metadata: "nightly\nexport"}).Lock, 0)
			time.Sleep(time.Second)
		},
		"with an earlier holder's metadata": func(a stage) {
			a.hold(a.c.NewLock("x", &primitives.LockOptions{Metadata: "nightly"}).Lock, 0)
			a.s.steal("x")
		},
		"Redisson's, behind a token": func(a stage) { a.s.do(alienHash...); a.s.do("SET", "redisson_lock_token:{x}", "1") },
		"beside a mutex":             func(a stage) { a.hold(a.c.NewMutex("x", nil).Lock, 0); a.hold(a.c.NewLock("x", nil).Lock, 0) },
	},
	"FairLock": {"Redisson's waiter": func(a stage) {
		a.hold(a.c.NewFairLock("x", nil).Lock, 1)
		a.s.do("LPUSH", "redisson_lock_queue:{x}", alienOwner)
	}},
	"ReadWriteLock": {
		"an ended reader": func(a stage) {
			a.s.do("DEL", "{x}:"+readLease(a.T, a.c.NewReadWriteLock("x", nil)).Owner()+":rwlock_timeout:1")
		},
		"12 readers": func(a stage) {
			for range 12 {
				readLease(a.T, a.c.NewReadWriteLock("x", nil))
			}
		},
		"a reader before a writer": func(a stage) {
			l := a.c.NewReadWriteLock("x", &primitives.ReadWriteLockOptions{PreferWriters: true})
			readLease(a.T, l)
			go l.WriteLock().Lock(a.Context())
			synctest.Wait()
		},
		"free, for a writer that waits": func(a stage) {
			lease := readLease(a.T, a.c.NewReadWriteLock("x", &primitives.ReadWriteLockOptions{PreferWriters: true}))
			a.s.do("HSET", "hasp_rwlock_writer:{x}", alienOwner, "1")
			require.NoError(a, lease.Release(a.Context()))
		},
		"a writer, with a later token": func(a stage) {
			token := a.hold(a.c.NewReadWriteLock("x", nil).WriteLock().Lock, 0).Token() + time.Hour.Microseconds()
			a.s.do("SET", "redisson_lock_token:{x}", strconv.FormatInt(token, 10))
		},
	},
	"Election": {"led": func(a stage) { a.lead("") }, "led with an ID": func(a stage) { a.lead("blue") }},
	"PeriodicJob": {
		"has run": func(a stage) {
			done := func(context.Context, primitives.JobRun) error { return nil }
			must(a.c.NewPeriodicJob("x", time.Hour, nil).TryDo(a.Context(), time.Now().Add(-time.Minute), done))(a.T)
		},
	},
	"Memo": {
		"runs": func(a stage) {
			go primitives.NewMemo[string](a.c, "x", nil).Do(a.Context(), "k", making("r", 2*time.Second))
			synctest.Wait()
		},
		"is kept": func(a stage) {
			_, _, err := primitives.NewMemo[string](a.c, "x", nil).Do(a.Context(), "k", making("r", 0))
			require.NoError(a, err)
		},
	},
	"Semaphore": {"2 of 3 free": func(a stage) {
		require.NoError(a, a.c.NewSemaphore("x", &primitives.SemaphoreOptions{Permits: 3}).TryAcquire(a.Context(), 1))
	}},
	"PermitSemaphore": {
		"all free":        func(a stage) { must(a.c.NewPermitSemaphore("x", nil).InitPermits(a.Context(), 3))(a.T) },
		"1 of 3 free":     func(a stage) { a.lend(3, 2, time.Minute) },
		"none of 11 free": func(a stage) { a.lend(11, 11, time.Minute) },
		"1 of 2 has ended": func(a stage) {
			a.lend(3, 1, time.Second).Forget()
			a.lend(3, 1, time.Minute)
			time.Sleep(2 * time.Second)
		},
	},
	"CountingSemaphore": {
		"11 hold": func(a stage) { a.hold(a.slots(20, time.Minute, primitives.ByTime).Acquire, 10) },
		"1 of 2 has ended": func(a stage) {
			a.hold(a.slots(2, time.Second, primitives.ByTime).Acquire, 0).Forget()
			a.hold(a.slots(2, time.Minute, primitives.ByTime).Acquire, 0)
			time.Sleep(2 * time.Second)
		},
		"4 hold, 8 wait":     func(a stage) { a.hold(a.slots(4, time.Minute, primitives.ByArrival).Acquire, 11) },
		"12 wait by time":    func(a stage) { a.hold(a.slots(1, time.Minute, primitives.ByTime).Acquire, 12) },
		"12 wait by arrival": func(a stage) { a.hold(a.slots(1, time.Minute, primitives.ByArrival).Acquire, 12) },
		"of another program": func(a stage) { a.s.do("ZADD", "x", "7", "member") },
	},
	"RateLimiter": {
		"full":              func(a stage) { a.take(primitives.RateOverall, 0) },
		"2 of 5 taken":      func(a stage) { a.take(primitives.RateOverall, 2) },
		"5 of 5 taken":      func(a stage) { a.take(primitives.RateOverall, 5) },
		"2 taken long ago":  func(a stage) { a.take(primitives.RateOverall, 2); time.Sleep(61 * time.Second) },
		"each full":         func(a stage) { a.take(primitives.RatePerClient, 0) },
		"2 of each 5 taken": func(a stage) { a.take(primitives.RatePerClient, 2) },
	},
	"Throttle": {"1 of 7 taken": func(a stage) {
		must(a.c.NewThrottle("x", primitives.Limit{Permits: 7, Interval: 10 * time.Second}, refuse).Allow(a.Context(), 1))(a.T)
	}},
	"CountDownLatch": {"3 left": func(a stage) {
		must(a.c.NewCountDownLatch("x").InitCountWithTTL(a.Context(), 3, time.Hour))(a.T)
	}},
	"PartsLatch":   {"1 of 2": func(a stage) { a.arrive("a") }, "open": func(a stage) { a.arrive("a", "b") }},
	"AtomicLong":   {"7": func(a stage) { must(a.c.NewAtomicLong("x").Add(a.Context(), 7))(a.T) }},
	"AtomicDouble": {"7.5": func(a stage) { must(a.c.NewAtomicDouble("x").Add(a.Context(), 7.5))(a.T) }},
	"IDGenerator": {"behind a block": func(a stage) {
		must(a.c.NewIDGenerator("x").Init(a.Context(), 5, 10))(a.T)
		must(a.c.NewIDGenerator("x").Next(a.Context()))(a.T)
	}},
	"": {
		"nothing": func(stage) {}, "text": func(a stage) { a.s.do("SET", "x", "visits") },
		"set": func(a stage) { a.s.do("SADD", "x", "a") }, "list": func(a stage) { a.s.do("RPUSH", "x", "a") }, "hash": func(a stage) { a.s.do("HSET", "x", "a", "7") },
	},
}

func (a stage) lead(id string) {
	e := a.c.NewElection("x", &primitives.ElectionOptions{ID: id, Value: "10.0.0.7:80"})
	go e.Run(a.Context(), func(ctx context.Context, _ *primitives.Lease) error { <-ctx.Done(); return ctx.Err() })
	synctest.Wait()
}

func (a stage) lend(permits, n int, lease time.Duration) *primitives.Lease {
	a.Helper()
	return must(a.c.NewPermitSemaphore("x", &primitives.PermitSemaphoreOptions{Permits: permits, Lease: lease}).TryAcquire(a.Context(), n))(a.T)
}

func (a stage) slots(n int, lease time.Duration, order primitives.CountingOrder) *primitives.CountingSemaphore {
	return a.c.NewCountingSemaphore("x", n, &primitives.CountingSemaphoreOptions{Lease: lease, Order: order})
}

func (a stage) take(mode primitives.RateMode, n int) {
	a.Helper()
	l := a.c.NewRateLimiter("x", primitives.Rate{}, rateRefuse)
	require.NoError(a, l.SetRate(a.Context(), primitives.Rate{Permits: 5, Interval: time.Minute, Mode: mode}))
	if n > 0 {
		require.NoError(a, l.Wait(a.Context(), n))
	}
}

func (a stage) arrive(parts ...string) {
	a.Helper()
	l := a.c.NewPartsLatch("x")
	must(l.Init(a.Context(), 2, time.Hour))(a.T)
	for _, part := range parts {
		must(l.CountDown(a.Context(), part))(a.T)
	}
}

// TestInspect compares what Describe shows of each kind in each state, to another client and to its own, with
// testdata/inspect.txt, where times are since the state began.
func TestInspect(t *testing.T) {
	t.Parallel()
	rows := map[string]string{}
	play := func(kind, state string, scene func(a stage)) {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(7654 * time.Microsecond) // The bubble begins with a whole second.
			s, begin := newServer(t), time.Now()
			c, asks := s.client(t, nil), s.client(t, nil)
			scene(stage{t, s, c})
			name := map[bool]string{true: "x:k", false: "x"}[kind == "Memo"]
			shown := shows(t, asks, name, c.ID(), asks.ID(), begin)
			mine := regexp.MustCompile(`("owner":"C[^"]*","mine":)false`).ReplaceAllString(shown, "${1}true")
			require.Equal(t, mine, shows(t, c, name, c.ID(), asks.ID(), begin), "%s %s", kind, state)
			shown += s.lives(c.ID())
			if strings.Contains(state, "12") || strings.Contains(state, "long") { // They beat at times that are drawn.
				shown = regexp.MustCompile(`("silent_ns":|signs=|queue=)(?:\d+(?:\.\d+)?ms|\d(?:\.\d+)?s|\d+)([,}\s])`).ReplaceAllString(shown, "${1}SHORT$2")
			}
			rows[kind+", "+state] = shown
		})
	}
	for kind, alien := range revocables {
		for state, scene := range lockScenes {
			if kind == "ReadLock" && strings.Contains(state, "wait") {
				continue // Readers do not.
			}
			play(kind, state, func(a stage) { scene(a, construct(a.T, a.c, kind, "x", nil).(revocable), alien) })
		}
	}
	for kind, of := range scenes {
		for state, scene := range of {
			play(kind, state, scene)
		}
	}
	text := requireRows(t, "testdata/inspect.txt", rows)
	for kind := range constructed(t) {
		if !slices.Contains([]string{"MultiLock", "RedLock", "Admission", "MultiThrottle", "LongAdder", "DoubleAdder"}, kind) { // They have no keys of their own.
			require.True(t, strings.Contains(text, "\n"+kind+", "), "%s has no row", kind)
		}
	}
	declared := regexp.MustCompile("(?m)^\t\\w+ +Kind += (\".*\")|`json:(\"\\w+)|\"(:\\w+|hasp_\\w+|redisson_\\w+)\"")
	for _, file := range []string{"inspect.go", "names.go"} { // kinds and fields, and keys
		source, _, _ := strings.Cut(string(must(os.ReadFile("../../primitives/inspect/"+file))(t)), "// nameOf")
		for _, d := range declared.FindAllStringSubmatch(source, -1) {
			require.True(t, strings.Contains(text, d[1]+d[2]+d[3]), "no row shows %s", d[0])
		}
	}
}

// lives returns how many milliseconds each key lives on, so that each script that writes has a row.
func (s *server) lives(client string) (text string) {
	for _, key := range slices.Sorted(slices.Values(s.do("KEYS", "*"))) {
		text += " " + strings.ReplaceAll(key, client, "C") + "=" + s.do("PTTL", key)[0]
	}
	return regexp.MustCompile(`C:\d+`).ReplaceAllString(text, "C:N")
}

// shows returns what Describe shows.
func shows(t *testing.T, by *primitives.Client, name, c, asks string, begin time.Time) string {
	t.Helper()
	text := string(must(json.Marshal(must(inspect.Describe(t.Context(), by, name))(t)))(t))
	host := string(must(json.Marshal(must(os.Hostname())(t)))(t))
	text = strings.NewReplacer(c, "C", asks, "ASKS", fmt.Sprintf(`"host":%s,"pid":%d`, host, os.Getpid()), `"host":"HOST","pid":PID`).Replace(text)
	text = regexp.MustCompile(`:\d{10,}"|[0-9a-f]{32}"`).ReplaceAllString(text, `:N"`) // the end of an owner, and a permit
	return regexp.MustCompile(`"\d{4}-\d\d-[^"]+"|:\d{7,}`).ReplaceAllStringFunc(text, func(text string) string {
		at, err := time.Parse(`"`+time.RFC3339Nano+`"`, text)
		if n, isNumber := strconv.ParseInt(text[1:], 10, 64); isNumber == nil && n >= begin.UnixMicro() {
			at, err = time.UnixMicro(n), nil // a token
		} else if isNumber == nil {
			return text[:1] + time.Duration(n).String()
		}
		require.NoError(t, err)
		return text[:1] + "+" + at.Sub(begin).String() + strings.Trim(text[:1], ":")
	})
}

// listedBy returns the names and kinds of a list.
func listedBy(t *testing.T, c *primitives.Client, pattern string, opts *inspect.ListOptions) (all []string) {
	t.Helper()
	for o, err := range inspect.List(t.Context(), c, pattern, opts) {
		require.NoError(t, err)
		all = append(all, o.Name+" "+string(o.Kind))
	}
	slices.Sort(all)
	return all
}

// listing runs a test with a client, and another client that lists.
func listing(t *testing.T, test func(c, asks *primitives.Client)) {
	t.Helper()
	t.Parallel()
	s := embedded.NewServer()
	open := func() *primitives.Client {
		c := must(embedded.NewClient(s, nil))(t)
		t.Cleanup(func() { require.NoError(t, c.Close(context.Background())) })
		return c
	}
	test(open(), open())
}

func TestInspectListYieldsEachObjectOnce(t *testing.T) {
	listing(t, func(c, asks *primitives.Client) {
		for _, name := range []string{"a", "b{tag}", "free"} {
			lease := must(c.NewLock(name, nil).Lock(t.Context()))(t)
			if name == "free" {
				require.NoError(t, lease.Release(t.Context()))
			}
		}
		require.NoError(t, errOf(c.NewMutex("a", nil).Lock(t.Context())))
		require.NoError(t, errOf2(primitives.NewMemo[string](c, "memo", nil).Do(t.Context(), "a key", making("r", 0))))
		require.NoError(t, errOf(c.NewReadWriteLock("rw", nil).ReadLock().Lock(t.Context())))
		require.NoError(t, errOf(c.NewAtomicLong("n").Add(t.Context(), 5)))
		for range 2 {
			require.NoError(t, errOf(c.NewCountingSemaphore("slots", 2, nil).Acquire(t.Context())))
		}
		want := []string{"a lock", "a mutex", "b{tag} lock", "free lock", "memo:a+key memo", "rw read-write lock", "slots counting semaphore"}
		require.Equal(t, want, listedBy(t, asks, "", nil))
		require.Equal(t, want, listedBy(t, asks, "", &inspect.ListOptions{Step: 1}))
		require.Equal(t, want[:2], listedBy(t, asks, "[a]", nil))
		require.Contains(t, listedBy(t, asks, "", &inspect.ListOptions{Plain: true}), "n atomic long")
	})
}

// TestInspectListBehindAPrefix: what is a pattern in a name of keys is none in the prefix.
func TestInspectListBehindAPrefix(t *testing.T) {
	t.Parallel()
	s := embedded.NewServer()
	for _, prefix := range []string{"p[1]:", `*p?\:`, "[^p]-:", "p:"} {
		c := must(embedded.NewClient(s, &primitives.Options{KeyPrefix: prefix}))(t)
		must(c.NewLock("of "+prefix, nil).Lock(t.Context()))(t)
		require.Equal(t, []string{"of " + prefix + " lock"}, listedBy(t, c, "of *", nil))
		require.NoError(t, c.Close(t.Context()))
	}
}

func TestInspectListRefuses(t *testing.T) {
	listing(t, func(c, asks *primitives.Client) {
		for _, err := range inspect.List(t.Context(), asks, "", &inspect.ListOptions{Step: -1}) {
			require.ErrorAs(t, err, new(*primitives.FieldError))
		}
		ended, turn := 0, func(context.Context) error { return io.EOF }
		for _, err := range inspect.List(t.Context(), asks, "", &inspect.ListOptions{Turn: turn}) {
			require.ErrorIs(t, err, io.EOF)
			ended++
		}
		require.NoError(t, c.Close(t.Context()))
		for _, err := range inspect.List(t.Context(), c, "", nil) {
			require.ErrorIs(t, err, backend.ErrClosed)
			ended++
		}
		require.Equal(t, 2, ended)
	})
}
