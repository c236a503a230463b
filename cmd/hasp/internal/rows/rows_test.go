package rows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/cmd/hasp/internal/rows"
	"github.com/hasp-go/hasp/primitives/inspect"
)

// TestRows: each thing that is known of an object has its row. What changes with time alone is apart, and texts of others
// cannot control a terminal.
func TestRows(t *testing.T) {
	t.Parallel()
	two, seven, second, at := int64(2), int64(7), time.Second, time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600))
	for _, c := range []struct {
		object inspect.Object
		kind   string
		rows   []string // of each its name, what it says, and of that what changes
	}{
		{inspect.Object{Kind: inspect.Lock, Possible: []inspect.Kind{inspect.FairLock, inspect.Lock, inspect.PeriodicJob}, Held: new(int64)},
			"lock (or fair lock, periodic job)", []string{"holder none "}},
		{inspect.Object{Kind: inspect.Lock, Token: &seven, LastRun: &at, Holders: []inspect.Holder{
			{Owner: "a\u202eb", Host: "h\n", PID: 3, Since: &at, Remaining: &second, Metadata: "x\ty"},
		}}, "lock", []string{
			`holder "a\u202eb", on "h\n", process 3, since 2026-01-02T02:04:05Z, lease 1s , lease 1s`,
			`metadata "x\ty" `, "token 7 ", "last run 2026-01-02T02:04:05Z ",
		}},
		{inspect.Object{Kind: inspect.ReadWriteLock, Held: &seven, Holders: []inspect.Holder{
			{Owner: "a", Mode: "read"}, {Owner: "0", Mode: "write", Revoked: true},
		}}, "read-write lock", []string{"holder a, read ", "holder revoked, write ", "holder and 5 others "}},
		{inspect.Object{Kind: inspect.Mutex, Queue: &inspect.Queue{Length: 2, First: []inspect.Waiter{{Owner: "a", Silent: &second}, {Owner: "b"}}}},
			"mutex", []string{"waiting 2 ", "waiter a, silent for 1s , silent for 1s", "waiter b "}},
		{inspect.Object{Kind: inspect.PermitSemaphore, Free: &two, Total: &seven, Value: "v\n"}, "permit semaphore", []string{"permits 2 of 7 free ", `value "v\n" `}},
		{inspect.Object{Kind: inspect.RateLimiter, Free: &two, Rate: &inspect.Rate{Permits: 5, Interval: second, PerClient: true}, OwedUntil: &at},
			"rate limiter", []string{"rate 5 in 1s, of each client ", "free 2 ", "all free 2026-01-02T02:04:05.000000006Z "}},
	} {
		var all []string
		for _, r := range rows.Of(c.object) {
			all = append(all, r.Name+" "+r.String()+" "+r.Ages)
		}
		require.Equal(t, c.rows, all)
		require.Equal(t, c.kind, rows.Kind(c.object))
	}
}
