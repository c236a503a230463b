// Package redisson has hasp and a real Redisson client share objects.
package redisson

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// done is what a call of ours says that has gone well.
const done = "<nil>"

// tests are what is tested on each topology, by clients of both kinds.
var tests = []struct {
	name string
	run  func(ctx context.Context, t *testing.T, ours *primitives.Client, java *peer)
}{
	{"Stories", testShared},
	{"PermitSemaphore", testPermits},
	{"PermitSemaphoreMadeByUs", testPermitsMadeByUs},
	{"PermitSemaphoreOfTheDead", testPermitsOfTheDead},
	{"RateLimiterProlonged", testRateLimiterProlonged},
	{"RateLimiterWindows", testRateLimiterWindows},
	{"LongAdder", testLongAdder},
	{"LongAdderUnderAPrefix", testLongAdderUnderAPrefix},
	{"LongAdderInAnotherDatabase", testLongAdderInAnotherDatabase},
	{"DoubleAdder", testDoubleAdder},
	{"Locks", testLocks},
	{"ReadWriteLock", testReadWriteLock},
	{"Revoked", testRevoked},
	{"Killed", testKilled},
	{"Contention", testContention},
}

// TestShared has both share objects on a server, and in a cluster of three. Ours does not poll: it is woken
// by messages.
func TestShared(t *testing.T) {
	if before(3, 22) {
		t.Log("left out: fenced locks, which are others before 3.22")
		delete(kinds, "fenced")
	}
	for name, topology := range map[string]func(testing.TB, servers.Kind) *cells.Target{
		"Standalone": cells.Standalone, "Cluster": cells.Cluster,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			libraries(t) // It skips.
			java := startPeer(t, topology(t, servers.Redis).Client())
			ours := cells.Named("Rueidis").Primitives(t, java.at, &primitives.Options{PollInterval: time.Hour})
			for _, test := range tests {
				t.Run(test.name, func(t *testing.T) {
					if java.at.Cluster && strings.Contains(test.name, "Adder") && before(3, 28) {
						t.Skip("before 3.28 adders use PUBLISH in a cluster, which counts the receivers of one node")
					}
					java.t = t
					test.run(bounded(t), t, ours, java)
				})
			}
		})
	}
}

// TestRedLock has both share a red lock on three servers.
func TestRedLock(t *testing.T) {
	t.Parallel()
	libraries(t) // It skips.
	var all cells.Client
	var clients []*primitives.Client
	var parts []*primitives.Lock
	for i := range 3 {
		at := cells.Standalone(t, servers.Redis).Client()
		all.Addrs = append(all.Addrs, at.Addrs...)
		clients = append(clients, cells.Named("Rueidis").Primitives(t, at, nil))
		parts = append(parts, clients[i].NewLock("red", nil))
	}
	java, ours := startPeer(t, all), clients[0]
	lock := joint{primitives.NewRedLock(clients, "red", nil), parts}
	java.takesTurns(bounded(t), ours, "red", "red", lock)
	c := contest{java, ours, map[string][]<-chan string{}}
	ctx, cancel := context.WithTimeout(t.Context(), contention+patience)
	defer cancel()
	c.enter(ctx, "red", "red", alone, lock)
	c.end()
}

// bounded returns a context for what is not meant to take long.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// shared are stories of objects of a kind, one of each name.
var shared = map[string]struct {
	kind, names string
	ours        func(c *primitives.Client, name string) any
	story       string
}{
	"Semaphore": {"semaphore", "permits a{permits}b", semaphoreOf(0), "theirs trySetPermits 5 = true; ours Acquire 3; " +
		"theirs availablePermits = 2; theirs acquire 3 waits; ours Release 1; theirs ends = acquired; " +
		"theirs acquire 2 waits; ours AddPermits 2; theirs ends = acquired; " +
		"ours Acquire 2 waits; theirs release 2 = released; ours ends; " +
		"ours Acquire 2 waits; theirs addPermits 2 = added; ours ends; " +
		"ours AddPermits -3; theirs availablePermits = -3; theirs addPermits 10 = added; " +
		"ours DrainPermits = 7; theirs drainPermits = 0"},
	// Java waits for a semaphore that is not there until we acquire from it.
	"SemaphoreMadeByUs": {"semaphore", "made a{made}b", semaphoreOf(3), "theirs acquire 2 waits; ours Acquire 1; " +
		"theirs ends = acquired; theirs availablePermits = 0; ours Acquire 1 waits; theirs release 2 = released; ours ends; " +
		"ours Release 1; theirs drainPermits = 2"},
	"CountDownLatch": {"latch", "latch a{latch}b", latch, bothWait + "ours CountDown = 0" + bothGoOn + bothWait +
		"theirs countDown = counted" + bothGoOn + bothWait + "ours Delete = true" + bothGoOn + "theirs getCount = 0"},
	// Redisson publishes a new count then, on which its own waiters sleep.
	"CountDownLatchDeletedByJava": {"latch", "deleted", latch, "theirs trySetCount 2 = true; ours Wait waits; " +
		"theirs delete = true; ours ends"},
	// Java sets the count. Then it waits for a count that hasp has set with a TTL.
	"CountDownLatchSetLater": {"latch", "later", latch, "ours WaitUntilSet waits; theirs trySetCount 1 = true; ours ends; " +
		"ours CountDown = 0; ours InitCountWithTTL 2 3600000000000 = true; theirs trySetCount 5 = false; theirs await waits; " +
		"theirs countDown = counted; ours TTL = 1h0m0s; theirs waits; ours CountDown = 0; theirs ends = open"},
	"IDGenerator":         {"ids", "theirs", generator, "theirs tryInit 100 3 = true; ours Init 1 1 = false; " + fromAHundred},
	"IDGeneratorMadeByUs": {"ids", "a{mine}b", generator, "ours Init 100 3 = true; theirs tryInit 1 1 = false; " + fromAHundred},
	"IDGeneratorOfNobody": {"ids", "plain", generator, "theirs nextId = 1; ours Next = 5001; theirs nextId = 2"},
	"AtomicLong": {"long", "long", func(c *primitives.Client, name string) any { return c.NewAtomicLong(name) },
		"theirs get = 0; ours Store 9223372036854775806; theirs addAndGet 1 = 9223372036854775807; " +
			"ours CompareAndSwap 9223372036854775807 -9223372036854775808 = true; " +
			"theirs getAndSet 5 = -9223372036854775808; theirs expire 3600000 = true; ours Add 2 = 7; ours TTL = 1h0m0s; " +
			"ours Swap 8 = 7; theirs remainTimeToLive = -1; theirs getAndDelete = 8; theirs compareAndSet 0 4 = true; " +
			"ours LoadAndDelete = 4"},
	"AtomicDouble": {"double", "double", func(c *primitives.Client, name string) any { return c.NewAtomicDouble(name) },
		stored("0.1") + stored("-4.398046511104125E12") + stored("1.0E300") + stored("-1.0E-7") + stored("4.9E-324") +
			stored("1.0E16") + "ours Load = 0.3"},
	// What Java releases leaves the grants, and they count. What Go gives back Java may take.
	"RateLimiter": {"rate", "rate a{rate}b", limiter, "theirs trySetRate 5 3600000 = true; ours InitRate 9 = false; " +
		"theirs tryAcquire 2 = true; ours State = true 3; ours Wait 2; theirs availablePermits = 1; " +
		"theirs tryAcquire 2 = false; ours Allow 2 = false 1; theirs release 3 = released; ours State = true 1; " +
		"ours Return 4; theirs availablePermits = 5; theirs tryAcquire 4 = true; ours SetRate 7; " +
		"theirs availablePermits = 3; ours SetRate 3; theirs availablePermits = -1; theirs tryAcquire 1 = false; " +
		"theirs trySetRate 5 1000 = false; ours Delete = true; theirs trySetRate 5 1000 = true; ours Delete = true"},
}

const (
	bothWait     = "theirs trySetCount 2 = true; theirs await waits; ours Wait waits; ours CountDown = 1; theirs getCount = 1; "
	bothGoOn     = "; theirs ends = open; ours ends; "
	fromAHundred = "ours Next = 100; ours Next = 101; theirs nextId = 103; theirs nextId = 104; theirs nextId = 105; " +
		"theirs nextId = 106; ours Next = 102; ours Next = 109"
)

// stored is the story of a double by its Java text: each side reads, and replaces, what the other has stored.
func stored(text string) string {
	return strings.ReplaceAll("ours Store x; theirs get = x; theirs set x = set; ours CompareAndSwap x 0.1 = true; "+
		"theirs addAndGet 0.2 = 0.3; ", "x", text)
}

func semaphoreOf(permits int) func(*primitives.Client, string) any {
	return func(c *primitives.Client, name string) any {
		return c.NewSemaphore(name, &primitives.SemaphoreOptions{Permits: permits})
	}
}

func latch(c *primitives.Client, name string) any     { return c.NewCountDownLatch(name) }
func generator(c *primitives.Client, name string) any { return c.NewIDGenerator(name) }

func limiter(c *primitives.Client, name string) any {
	return c.NewRateLimiter(name, primitives.Rate{}, &primitives.RateLimiterOptions{Unavailable: primitives.Refuse(), Timeout: time.Hour})
}

// teller tells stories of the object of a name.
type teller struct {
	*peer
	ctx        context.Context //nolint:containedctx // Of one test.
	kind, name string          // the kind by the peer's name
	ours       map[string]any  // our objects of that name, by what stories call them
	begun      map[string]<-chan string
}

func (p *peer) teller(ctx context.Context, kind, name string, ours map[string]any) *teller {
	return &teller{p, ctx, kind, name, ours, map[string]<-chan string{}}
}

// tell tells a story. A step is an actor, a method, its arguments, and what it returns behind "=": of ours that may be
// nothing. The actor theirs is Redisson's object, and all others are ours. A step that "waits" does not return for now; it
// does when its actor "ends".
func (s *teller) tell(story string) {
	s.t.Helper()
	for step := range strings.SplitSeq(story, "; ") {
		s.t.Log(step)
		call, want, _ := strings.Cut(step, " = ")
		actor, call, _ := strings.Cut(call, " ")
		call, waits := strings.CutSuffix(call, " waits")
		switch {
		case call == "ends":
			s.await(s.begun[actor], want)
		case call == "waits":
			s.waits(s.begun[actor])
		case waits:
			s.begun[actor] = s.call(actor, call)
			s.waits(s.begun[actor])
		case step != "":
			s.await(s.call(actor, call), want)
		}
	}
}

// call begins a call by an actor.
func (s *teller) call(actor, call string) (answer <-chan string) {
	s.t.Helper()
	words := strings.Fields(call)
	if actor == "theirs" {
		return s.begin(s.kind+"."+words[0], s.name, strings.Join(words[1:], " "))
	}
	method, args, got := reflect.ValueOf(s.ours[actor]).MethodByName(words[0]), []reflect.Value{}, make(chan string, 1)
	require.True(s.t, method.IsValid(), "%s %s", actor, call)
	for i := range method.Type().NumIn() {
		if of := method.Type().In(i); of.Kind() == reflect.Interface {
			args = append(args, reflect.ValueOf(s.ctx))
		} else {
			words = words[1:]
			args = append(args, s.argument(of, words[0]))
		}
	}
	go func() { got <- said(method.Call(args)) }()
	return got
}

// argument returns an argument of that type. A rate is of an hour.
func (s *teller) argument(of reflect.Type, word string) reflect.Value {
	s.t.Helper()
	value := reflect.New(of)
	to := value.Interface()
	if rate, ok := to.(*primitives.Rate); ok {
		rate.Interval, to = time.Hour, &rate.Permits
	}
	require.NoError(s.t, cells.Err(fmt.Sscan(word, to)), word)
	return value.Elem()
}

// said returns the error among results, or else the first result: a time in hours, and of a decision how many are free.
func said(results []reflect.Value) string {
	for _, result := range slices.Backward(results) {
		switch r := result.Interface().(type) {
		case nil:
		case time.Duration:
			return r.Round(time.Hour).String()
		case primitives.Decision:
			return fmt.Sprint(r.Allowed, " ", r.Remaining)
		default:
			return fmt.Sprint(r)
		}
	}
	return ""
}

// testShared tells the stories.
func testShared(_ context.Context, t *testing.T, ours *primitives.Client, java *peer) {
	t.Helper()
	for title, of := range shared {
		for name := range strings.FieldsSeq(of.names) {
			t.Run(title+" "+name, func(t *testing.T) {
				java.t = t
				if of.kind == "latch" && java.at.Cluster && strings.Contains(name, "{") {
					// Its channel has braces around the name, and is in another slot.
					refusal := java.within("the refusal", java.begin("latch.trySetCount", name, 2))
					require.Contains(t, refusal, "Exception: CROSSSLOT")
					return
				}
				java.teller(bounded(t), of.kind, name, map[string]any{"ours": of.ours(ours, name)}).tell(of.story)
			})
		}
	}
}

// testRateLimiterProlonged has each side prolong a limiter that Go has made by its option.
func testRateLimiterProlonged(ctx context.Context, t *testing.T, ours *primitives.Client, java *peer) {
	t.Helper()
	const name = "prolonged"
	l := ours.NewRateLimiter(name, primitives.Rate{Permits: 5, Interval: time.Minute}, &primitives.RateLimiterOptions{Unavailable: primitives.Refuse(), Timeout: time.Hour})
	for range 2 {
		require.NoError(t, l.Wait(ctx, 1))
		require.InDelta(t, time.Hour, shorten(t, java, name), float64(time.Minute))
		java.does("true", "rate.tryAcquire", name, 1)
		if ttl := shorten(t, java, name); before(3, 38) {
			t.Log("left out: before 3.38 Redisson does not prolong a limiter")
		} else {
			require.InDelta(t, time.Hour, ttl, float64(time.Minute))
		}
	}
	java.does("1", "rate.availablePermits", name)
}
