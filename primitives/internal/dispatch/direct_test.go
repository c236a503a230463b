package dispatch_test

import (
	"context"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/dispatch"
)

// oneServer is a link of a driver that pays no attention to contexts, but for deadlines if it says so, to one server or
// to a cluster.
type oneServer struct {
	backend.Backend
	*link
	cluster, deadlines bool
	returns            time.Duration // how long after its answers it does
}

func (s *oneServer) Capabilities() backend.Capabilities {
	return backend.Capabilities{Cluster: s.cluster, Deadlines: s.deadlines}
}

func (s *oneServer) Run(context.Context, *backend.Script, []string, []string) (backend.Reply, error) {
	panic("it batches")
}

func (s *oneServer) RunBatch(ctx context.Context, calls []backend.Call, report func(int, backend.Outcome)) {
	deadline, ok := ctx.Deadline()
	if ctx = context.WithoutCancel(ctx); ok && s.deadlines {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	s.link.RunBatch(ctx, calls, report)
	time.Sleep(s.returns)
}

// answered returns a dispatcher that has just had an answer.
func answered(t *testing.T, s *oneServer) *dispatch.Dispatcher {
	t.Helper()
	d := open(t, s)
	reply, err := d.Run(t.Context(), write, []string{"first"}, nil)
	requireEcho(t, "first", reply, err)
	synctest.Wait() // Its sender has ended.
	return d
}

// inCaller reports whether it is called in the goroutine of a call's caller.
func inCaller() bool { return strings.Contains(string(debug.Stack()), "dispatch.(*Request).Run(") }

// TestCallerSends looks at whose goroutine a call is sent by.
func TestCallerSends(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cluster, ends, beside, fails bool
		hasty, deadlines             bool
		idle                         time.Duration
		caller                       bool
	}{
		"AfterAnAnswer":     {caller: true, idle: time.Second},
		"LongAfter":         {idle: time.Second + 1},
		"AfterALostReply":   {fails: true},
		"ContextThatEnds":   {ends: true},
		"BesideAnotherCall": {beside: true},
		"Cluster":           {cluster: true},
		"Hasty":             {hasty: true, ends: true, deadlines: true, caller: true},
		"WithoutDeadlines":  {hasty: true},
		"HastyInACluster":   {hasty: true, deadlines: true, cluster: true},
	} {
		subtest(t, name, func(t *testing.T) {
			s := &oneServer{cluster: c.cluster, deadlines: c.deadlines, link: &link{}}
			var byCaller bool
			s.do = func(_ context.Context, call backend.Call) (backend.Reply, error) {
				switch call.Keys[0] {
				case "lost":
					return backend.Reply{}, backend.ErrIndeterminate
				case "beside":
					time.Sleep(time.Minute)
				case "k":
					byCaller = inCaller()
				}
				return backend.StringReply(call.Keys[0]), nil
			}
			d := answered(t, s)
			if c.fails {
				_, err := d.Run(context.Background(), write, []string{"lost"}, nil)
				require.ErrorIs(t, err, backend.ErrIndeterminate)
			}
			if c.beside {
				go func() { _, _ = d.Run(context.Background(), write, []string{"beside"}, nil) }()
			}
			synctest.Wait()
			time.Sleep(c.idle)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if !c.ends {
				ctx = context.WithoutCancel(ctx)
			}
			r := request(write, "k")
			if r.Hasty = c.hasty; r.Hasty {
				r.Limit = time.Second
			}
			reply, err := do(ctx, d, r)
			requireEcho(t, "k", reply, err)
			require.Equal(t, c.caller, byCaller)
			time.Sleep(time.Minute)
		})
	}
}

// TestHastyCallerOfAStoppedServer is in the driver until its Limit, or its context's deadline, and no longer. After the
// Limit the next hasty caller fails at once.
func TestHastyCallerOfAStoppedServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		deadline, cancelled, takes time.Duration
		want                       error
	}{
		"Limit":              {takes: time.Second},
		"Deadline":           {deadline: 100 * time.Millisecond, takes: 100 * time.Millisecond, want: context.DeadlineExceeded},
		"CancelledMeanwhile": {cancelled: 100 * time.Millisecond, takes: time.Second, want: context.Canceled},
	} {
		subtest(t, name, func(t *testing.T) {
			s := &oneServer{link: &link{}, deadlines: true}
			d := answered(t, s)
			s.takes = time.Hour
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.deadline > 0 {
				ctx, cancel = context.WithTimeout(ctx, c.deadline)
				defer cancel()
			}
			if c.cancelled > 0 {
				time.AfterFunc(c.cancelled, cancel)
			}
			start := time.Now()
			hasty := &dispatch.Runner{Dispatcher: d, Hasty: true, Limit: time.Second}
			_, err := hasty.Run(ctx, write, []string{"k"}, nil)
			require.Equal(t, c.takes, time.Since(start))
			require.ErrorIs(t, err, backend.ErrIndeterminate)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
				return
			}
			_, err = hasty.Run(t.Context(), write, []string{"k"}, nil)
			require.ErrorIs(t, err, backend.ErrUnavailable)
			require.ErrorContains(t, err, "no answer within 1s")
			require.Equal(t, c.takes, time.Since(start), "at once")
		})
	}
}

// TestHastyCallerWhoseDriverReturnsLate has its answer all the same.
func TestHastyCallerWhoseDriverReturnsLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &oneServer{link: &link{}, deadlines: true}
		d := answered(t, s)
		s.returns = time.Minute
		reply, err := (&dispatch.Runner{Dispatcher: d, Hasty: true, Limit: time.Second}).Run(t.Context(), write, []string{"k"}, nil)
		requireEcho(t, "k", reply, err)
	})
}

// TestCloseGivesUpACallerInTheDriver has answers come after Close, and none: nothing is sent again, nor anything more.
func TestCloseGivesUpACallerInTheDriver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		unsent bool
		want   error
	}{"Sent": {want: backend.ErrIndeterminate}, "Unsent": {unsent: true, want: backend.ErrUnavailable}} {
		subtest(t, name, func(t *testing.T) {
			s := &oneServer{link: &link{}}
			d := answered(t, s)
			s.do = func(_ context.Context, call backend.Call) (backend.Reply, error) {
				if c.unsent {
					call.Claim.NotSent(nil)
				}
				time.Sleep(3 * time.Second)
				require.Equal(t, !c.unsent, call.Claim.Begin())
				return backend.StringReply("late"), nil
			}
			start := time.Now()
			time.AfterFunc(time.Second, d.Close)
			reply, err := d.Run(context.Background(), write, []string{"k"}, nil)
			require.ErrorIs(t, err, c.want)
			require.Equal(t, !c.unsent, backend.MayHaveRun(err))
			require.Zero(t, reply)
			require.Equal(t, 3*time.Second, time.Since(start), "the driver has returned")
			require.Equal(t, backend.ErrClosed, errOf(d.Run(context.Background(), write, []string{"k"}, nil)))
			require.Equal(t, [][]string{{"first"}, {"k"}}, s.sent())
		})
	}
}

// TestCallsBehindACallerInTheDriver come while a caller sends, more than are sent at once beside it: the rest is sent as
// soon as the caller is back from the driver, however it comes back. Later callers send by themselves again.
func TestCallsBehindACallerInTheDriver(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(){
		"Returns": func() {}, "Panics": func() { panic("hook") }, "EndsItsGoroutine": runtime.Goexit,
	} {
		subtest(t, name, func(t *testing.T) {
			s := &oneServer{link: &link{}}
			d := answered(t, s)
			var byCaller bool
			s.do = func(_ context.Context, call backend.Call) (backend.Reply, error) {
				byCaller = inCaller()
				switch time.Sleep(time.Millisecond); call.Keys[0] {
				case "caller":
					end()
				case "beside":
					time.Sleep(time.Minute)
				}
				return backend.StringReply(call.Keys[0]), nil
			}
			go func() {
				defer func() { _ = recover() }()
				_, _ = d.Run(context.Background(), write, []string{"caller"}, nil)
			}()
			synctest.Wait()
			require.True(t, byCaller)
			for _, key := range []string{"beside", "behind"} {
				go func() { _, _ = d.Run(context.Background(), write, []string{key}, nil) }()
				synctest.Wait()
			}
			time.Sleep(1500 * time.Microsecond)
			require.Equal(t, [][]string{{"first"}, {"caller"}, {"beside"}, {"behind"}}, s.sent())
			time.Sleep(time.Hour)
			for range 2 {
				reply, err := d.Run(context.Background(), write, []string{"next"}, nil)
				requireEcho(t, "next", reply, err)
				synctest.Wait()
			}
			require.True(t, byCaller, "nobody counts as a sender any more")
		})
	}
}
