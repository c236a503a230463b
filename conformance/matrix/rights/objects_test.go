package rights

import (
	"context"
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// ends are the numbers of all objects at the ends of their ranges, or beyond what a double has exactly: the kind, and a
// story, in which SET writes a key as another program does.
var ends = map[string][2]string{
	"AtomicLong": {"long", "Store 9223372036854775807; ExpireAt 9999-12-31 = true; TTL = 2562047h47m16.854775806s; " +
		"Add 1 ! overflow; Load = 9223372036854775807; Decrement = 9223372036854775806; " +
		"LoadAndAdd 1 = 9223372036854775806; Swap -9223372036854775808 = 9223372036854775807; Add -1 ! overflow; " +
		"Swap 9007199254740993 = -9223372036854775808; Increment = 9007199254740994; LoadAndDelete = 9007199254740994"},
	"AtomicDouble": {"double", "Store 1.7976931348623157e+308; Add 9e291 = 1.7976931348623157e+308; " +
		"Add 9e291 = 1.7976931348623157e+308; Load = 1.7976931348623157e+308; Add 1e292 ! overflow; " +
		"Add -9e291 = 1.7976931348623157e+308; Swap -1.7976931348623157e+308 = 1.7976931348623157e+308; " +
		"Add -9e291 = -1.7976931348623157e+308; Add 1.7976931348623157e+308 = 0; " +
		"Add 1e-17 = 1e-17; " + // The server keeps as many digits.
		"Store 5e-324; Load = 5e-324; Store 0.1; Load = 0.1; CompareAndSwap 0.1 1e+21 = true; Swap -1.5e-07 = 1e+21; " +
		"LoadAndDelete = -1.5e-07; LoadAndAdd 0.5 = 0; Store 3.141592653589793; StoreIfLess 3.141592653589793 0 = false; " +
		"StoreIfGreater 3.141592653589793 0 = false; LoadAndDelete = 3.141592653589793"},
	"CountDownLatch": {"latch", "InitCount 9223372036854775807 = true; CountDown = 9223372036854775806; " +
		"Count = 9223372036854775806; Delete = true; InitCount 9007199254740994 = true; CountDown = 9007199254740993; " +
		"SET CountDownLatch -9223372036854775808; " + // Redisson's trySetCount may do so.
		"CountDown = 0"},
	"FencedLock": {"fenced", // The clock has not passed these tokens.
		"SET redisson_lock_token:{FencedLock} 9007199254740993; Lock = 9007199254740994; release; " +
			"SET redisson_lock_token:{FencedLock} 9999999999999999; Lock = 10000000000000000; release; " +
			"SET redisson_lock_token:{FencedLock} 9223372036854775806; Lock = 9223372036854775807; release; " +
			"Lock ! conflict; LastToken = 9223372036854775807"},
	"IDGenerator": {"ids", "Init 9223372036854775798 5 = true; Next = 9223372036854775798; Next = 9223372036854775799; " +
		"Next = 9223372036854775800; Next = 9223372036854775801; Next = 9223372036854775802; Next = 9223372036854775803; " +
		"Next = 9223372036854775804; Next = 9223372036854775805; Next = 9223372036854775806; Next = 9223372036854775807; " +
		"Next ! overflow; Next ! overflow"},
	"LastID":   {"ids", "Init 9223372036854775807 1 = true; Next = 9223372036854775807; Next ! overflow"},
	"FirstID":  {"ids", "Init -9223372036854775808 9223372036854775807; Next = -9223372036854775808; Next = -9223372036854775807"},
	"OneBlock": {"ids", "Init 1 9223372036854775807 = true; Next = 1; Next = 2"},
	"Semaphore": {"semaphore", "InitPermits 2147483647 = true; AddPermits 1 ! overflow; Release 1 ! overflow; " +
		"TryAcquire 2147483647; AvailablePermits = 0"},
	"PermitSemaphore": {"permits", "InitPermits 2147483647 = true; AddPermits 1 ! overflow; TotalPermits = 2147483647; " +
		"AddPermits -2147483647; TotalPermits = 0"},
	"RateLimiter": {"rate", "SetRate most; Wait 2147483647; State = 0; Return 2147483647; State = 2147483647"},
}

// TestNumbersAtTheirEnds: each number that a method takes or returns is right at the ends of its range, and where a
// double has no whole number of its own for it.
func TestNumbersAtTheirEnds(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.Redis, nil)
	c := cells.Named("GoRedis").Primitives(t, cells.At(s.Addr()), nil)
	for name, of := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &player{object: unopened(c, name)[of[0]]}
			for step := range strings.SplitSeq(of[1], "; ") {
				if words := strings.Fields(step); words[0] == "SET" {
					cells.Text(t, s, words...)
				} else {
					require.NoError(t, must.Catch(func() { p.step(t.Context(), t.Context(), words) }), step)
				}
			}
		})
	}
}

// looking are the methods that look at a hash: of all locks that are one at their name, and of rate limiters.
var looking = regexp.MustCompile(`^(TryLock|ForceUnlock|Is.*|HoldCount|Remaining|LastToken|Holders?|` +
	`Allow|Wait|Return|State|Delete|Rate|(Set|Init|Update)Rate)$`)

// TestForeignHashIsAConflict has another program's hash at the name of a lock or of a rate limiter. Its fields are almost
// owners, or would take long to search. No lock or limiter takes the hash for its own, waits for it, or changes it.
func TestForeignHashIsAConflict(t *testing.T) {
	cells.OnBoth(t, func(t *testing.T, s *servers.Server) {
		all := unopened(cells.Named("GoRedis").Primitives(t, cells.At(s.Addr()), nil), "x")
		for _, fields := range [][]string{
			{"name", "bob"}, {"name", "bob", "visits", "9000000000000"}, {"mode", "dark"}, {"type", "0"}, {"a-a-a-a-a:", "1"},
			{"a-a-a-a-a:1:a", "1"}, {"a:00000000-0000-4000-8000-00000000000a:1", "1"}, {strings.Repeat("a", 1<<20), "1"},
		} {
			cells.Text(t, s, "DEL", "x")
			cells.Text(t, s, append([]string{"HSET", "x"}, fields...)...)
			calls := 0
			for _, kind := range []string{"lock", "fenced", "spin", "fair", "read", "write", "rate"} {
				p := &player{object: all[kind]}
				for _, method := range p.methods(looking) {
					calls++
					err := p.call(t.Context(), []string{method, "1"})
					require.ErrorIs(t, err, primitives.ErrConflict, "%s: %s", kind, method)
					require.ErrorContains(t, err, "holds a hash", "%s: %s", kind, method)
				}
			}
			require.Greater(t, calls, 50)
			require.ElementsMatch(t, fields, cells.Texts(t, s, "HGETALL", "x"))
			require.Equal(t, "1", cells.Text(t, s, "DBSIZE"))
		}
	})
}

// TestClientKeepsNothing uses an object of each kind many times: alone, while another caller waits, which is granted
// what it waits for or gives up, and with leases that are forgotten, and releases that fail at first. When all calls and
// leases have ended, the client's maps, queues and lists have what they had before the first use.
func TestClientKeepsNothing(t *testing.T) {
	cells.Bubble(t, func(t *testing.T) {
		server := embedded.NewServer()
		b := must.Get(embedded.New(server, nil))
		r, lost := &cells.Runner{Backend: b}, false
		r.Instead = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
			if lost && strings.HasSuffix(c.Script.Name, "_release") {
				return backend.Reply{}, backend.Indeterminate(errors.New("EOF"))
			}
			return r.Good(ctx, c)
		}
		c := cells.Over(t, r, nil)
		all := objects(t.Context(), c, "x")
		use := func() {
			for name, o := range all {
				must.Get(server.Do("FLUSHALL")) // All objects have the same name.
				require.NoError(t, act(t.Context(), name, o), name)
				if adder, isAdder := o.(*primitives.LongAdder); isAdder {
					must.Get(adder.Sum(t.Context()))
				}
				if memo, isMemo := o.(*primitives.Memo[int]); isMemo {
					endWithout(t, memo)
				}
				if _, isLocker := lockerOf(o); isLocker {
					play(t.Context(), o, contended, func(step string) { lost = step == "unheard release" })
				}
			}
			must.Get(c.OpenLongAdder(t.Context(), "closed")).Close()
			time.Sleep(time.Hour) // Virtual: forgotten leases end, releases are repeated, pauses of senders end.
			synctest.Wait()
		}
		unused := kept(c, all)
		for range 20 {
			use()
		}
		require.Equal(t, unused, kept(c, all))
		require.Positive(t, unused["map[*primitives.adder]struct {}"], "%v", unused)
	})
}

// endWithout has work end without an answer that others could have.
func endWithout(t *testing.T, memo *primitives.Memo[int]) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	_, ran, err := memo.Do(ctx, "left", func(context.Context, primitives.MemoRun) (int, error) {
		cancel()
		return 0, ctx.Err()
	})
	require.True(t, ran)
	require.ErrorIs(t, err, context.Canceled)
}

// lockerOf returns the object as a lock, if it has leases for which callers wait.
func lockerOf(o object) (locker, bool) {
	if s, ok := o.(*primitives.CountingSemaphore); ok {
		return slot{s}, true
	}
	l, ok := o.(locker)
	return l, ok
}

// contended is a story of a lock. One waiter gives up, and another one gets the lock. Then the holder forgets a lease, and
// repeats the release of another.
const contended = "Lock; hurry Do; go Do; wait 15s; release; wait 1s; Lock; forget; wait 1m; Lock; unheard release; wait 1m"

// kept counts what can be reached from the values: per type the values behind pointers, the entries of maps, and the
// elements of slices up to their capacity. It looks into the types of primitives and its packages, and into contexts.
func kept(values ...any) map[string]int {
	k := keeper{counts: map[string]int{}, seen: map[place]bool{}}
	for _, v := range values {
		k.visit(reflect.ValueOf(v))
	}
	return k.counts
}

type place struct {
	at   unsafe.Pointer
	kind reflect.Type
}

type keeper struct {
	counts map[string]int
	seen   map[place]bool
}

func (k *keeper) visit(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Map:
		at := place{v.UnsafePointer(), v.Type()}
		if v.IsNil() || k.seen[at] || v.Kind() == reflect.Pointer && !ours(v.Type().Elem()) {
			return
		}
		k.seen[at] = true
		k.enter(v)
	case reflect.Interface:
		k.visit(v.Elem())
	case reflect.Struct:
		for i := 0; ours(v.Type()) && i < v.NumField(); i++ {
			k.visit(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Cap() {
			if e := v.Slice(0, v.Cap()).Index(i); !e.IsZero() && e.Kind() >= reflect.Array {
				k.counts[v.Type().String()]++
				k.visit(e)
			}
		}
	}
}

// enter counts and visits what is behind a pointer or in a map.
func (k *keeper) enter(v reflect.Value) {
	if v.Kind() == reflect.Pointer {
		k.counts[v.Type().String()]++
		k.visit(v.Elem())
		return
	}
	if v.Len() > 0 {
		k.counts[v.Type().String()] += v.Len()
	}
	for entries := v.MapRange(); entries.Next(); {
		k.visit(entries.Key())
		k.visit(entries.Value())
	}
}

// ours reports whether a type is of primitives or its packages, or of context, or has no name.
func ours(t reflect.Type) bool {
	return t.PkgPath() == "" || t.PkgPath() == "context" || strings.HasPrefix(t.PkgPath(), reflect.TypeFor[primitives.Client]().PkgPath())
}
