package rights

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
