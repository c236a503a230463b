// Package processes has tests of several processes on one server: one is killed, stopped or cut off, or all hammer it.
package processes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/anylock"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

// works are the kinds that have work done under a lease.
var works = map[string]func(ctx context.Context, c *primitives.Client, name string, work func(ctx context.Context, token int64) error) error{
	"Election": func(ctx context.Context, c *primitives.Client, name string, work func(context.Context, int64) error) error {
		return c.NewElection(name, nil).Run(ctx, func(ctx context.Context, lease *primitives.Lease) error {
			return work(ctx, lease.Token())
		})
	},
	"Memo": func(ctx context.Context, c *primitives.Client, name string, work func(context.Context, int64) error) error {
		m := primitives.NewMemo[int](c, name, nil)
		_, _, err := m.Do(ctx, "key", func(ctx context.Context, run primitives.MemoRun) (int, error) {
			return 0, work(ctx, run.Lease.Token())
		})
		return err
	},
}

// TestWorkUnderFaults judges each of them as a lock, whose holder works: processes, over the three drivers, are killed,
// stopped and cut off.
func TestWorkUnderFaults(t *testing.T) {
	if !servers.IsChild() {
		cells.Proof(t)
	}
	for name, run := range works {
		t.Run(name, func(t *testing.T) {
			report := anylock.Run(t, anylock.Subject{Lock: func(ctx context.Context, env anylock.Env) (anylock.Hold, error) {
				client := anylock.Open(env, func() (*primitives.Client, error) {
					a := cells.Adapters()[env.Index%len(cells.Adapters())]
					in, err := a.Open(context.Background(), cells.At(env.Addr))
					if err != nil {
						return nil, err
					}
					return primitives.New(in.Backend, &primitives.Options{WatchdogLease: env.Lease})
				})
				return begin(ctx, func(ctx context.Context, work func(context.Context, int64) error) error {
					return run(ctx, client, env.Name, work)
				})
			}})
			for _, property := range []string{"mutual exclusion", "killed holder", "silent link", "stopped holder", "token"} {
				require.NotEqual(t, anylock.NotOffered, report.Of(property).Outcome, property)
			}
		})
	}
}

// begin returns when work has begun, which goes on until it is unlocked, or loses its lease.
func begin(
	ctx context.Context, run func(ctx context.Context, work func(ctx context.Context, token int64) error) error,
) (anylock.Hold, error) {
	ctx, end := context.WithCancel(ctx)
	begun, ended, err := make(chan anylock.Hold, 1), make(chan struct{}), error(nil)
	unlock := func(context.Context) error { end(); <-ended; return nil }
	go func() {
		defer close(ended)
		err = run(ctx, func(held context.Context, token int64) error {
			begun <- anylock.Hold{Unlock: unlock, Token: token, Context: held}
			<-held.Done()
			return errors.New("it works once")
		})
	}()
	select {
	case hold := <-begun:
		return hold, nil
	case <-ended:
		end()
		return anylock.Hold{}, errors.Join(err, errors.New("it did not work"))
	}
}

// perSecond is the rate of the throttle that processes hammer. It is far below what they ask for on any machine, and
// frees no permit in a whole number of microseconds.
const perSecond = 97

// TestThrottleOfManyProcesses: 20 processes, over the three drivers, ask for permits of one throttle as fast as they can
// for HASP_HAMMER (3 s), once its burst is taken. By the server's clock they get all that the rate frees, and no permit
// more. A failover that loses all grants of half that time costs one burst at most.
func TestThrottleOfManyProcesses(t *testing.T) {
	cells.Proof(t)
	lasts := cells.Got(time.ParseDuration(cmp.Or(os.Getenv("HASP_HAMMER"), "3s")))(t)
	t.Run("Sound", func(t *testing.T) {
		const burst = 60 * perSecond // No permit is lost unless all processes stand still for so long.
		got := hammer(t, burst, func(*servers.Replicated) { time.Sleep(lasts) })
		require.LessOrEqual(t, got.granted, got.most)
		require.GreaterOrEqual(t, got.granted+got.free, got.least)
	})
	t.Run("Failover", func(t *testing.T) {
		const burst = perSecond
		got := hammer(t, burst, func(r *servers.Replicated) {
			require.NoError(t, r.FailOver(func() error { time.Sleep(lasts / 2); return nil }))
			s := cells.Server{Server: r.Primary()}
			s.Await(t, "the new primary is asked", func() bool { return s.Calls(t, "evalsha") > burst })
			time.Sleep(lasts / 2)
		})
		require.LessOrEqual(t, got.granted, got.most+burst)
	})
}

// hammering is what processes were granted, what then was free, and what the rate had freed at least and at most.
type hammering struct{ granted, free, least, most int }

// hammer takes the burst, has the processes begin, and orders their end after work.
func hammer(t *testing.T, burst int, work func(*servers.Replicated)) (got hammering) {
	t.Helper()
	r, all := servers.StartReplicated(t, servers.Redis, 1, nil), make([]*cells.Child, 20)
	now := func() int {
		return cells.Number(t, r.Primary(), "EVAL", "local t = redis.call('time') return t[1] * 1000000 + t[2]", "0")
	}
	for i := range all {
		a := cells.Adapters()[i%len(cells.Adapters())]
		all[i] = cells.StartChild(t, os.Args[0], "TestHammer", a.Name, r.Addr(), strconv.Itoa(burst))
		require.Equal(t, "ready", all[i].Next(t))
	}
	before := now()
	require.True(t, cells.Got(throttleOf(t, "GoRedis", r.Addr(), burst).Allow(t.Context(), burst))(t).Allowed)
	after := now()
	for _, c := range all {
		require.NoError(t, c.Order("begin"))
	}
	work(r)
	asked := 0
	for _, c := range all {
		require.NoError(t, c.Order("end"))
		var granted, tries int
		require.NoError(t, cells.Err(fmt.Sscan(c.Next(t), &granted, &tries)))
		got.granted, asked = got.granted+granted, asked+tries
	}
	got.least = perSecond * (now() - after) / 1e6
	last := cells.Got(throttleOf(t, "GoRedis", r.Addr(), burst).State(t.Context()))(t)
	got.most, got.free = perSecond*(now()-before)/1e6, last.Remaining
	t.Logf("%d calls: %+v, of a burst of %d", asked, got, burst)
	return got
}

// throttleOf returns the throttle at a client of its own, over the adapter of that name.
func throttleOf(t *testing.T, adapter, addr string, burst int) *primitives.Throttle {
	t.Helper()
	return cells.Named(adapter).Primitives(t, cells.At(addr), nil).NewThrottle("hammered",
		primitives.Limit{Permits: perSecond, Interval: time.Second, Burst: burst},
		&primitives.ThrottleOptions{Unavailable: primitives.Refuse(), Timeout: conformance.Patience})
}

// TestHammer is a process that takes one to three permits at a time, from one order to the next.
func TestHammer(t *testing.T) {
	args, orders := cells.AsChild(t)
	burst := cells.Got(strconv.Atoi(args[2]))(t)
	throttle := throttleOf(t, args[0], args[1], burst)
	cells.Say("ready")
	<-orders
	for granted, asked := 0, 1; ; asked++ {
		n := 1 + asked%3
		if d, err := throttle.Allow(t.Context(), n); err == nil && d.Allowed {
			granted += n
		}
		select {
		case <-orders:
			cells.Say(granted, asked)
			return
		default:
		}
	}
}
