package gocronhasp_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/hasptest"
	gocronhasp "github.com/hasp-go/hasp/integration/gocron"
	"github.com/hasp-go/hasp/primitives"
)

// election is the name of the election, and of its lock.
const election = "scheduler"

// candidate is a replica that takes part in the election.
type candidate struct {
	elector *gocronhasp.Elector
	resign  context.CancelFunc // has Run end
	ended   chan error         // receives the result of Run
}

// campaign has a replica take part in the election, and schedule a job with that work.
func campaign(
	t *testing.T, s *hasptest.Server, work gocronhasp.Work, options ...gocron.JobOption,
) candidate {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := candidate{
		gocronhasp.NewElector(s.Client(nil).NewElection(election, nil)), cancel, make(chan error, 1),
	}
	go func() { c.ended <- c.elector.Run(ctx) }()
	schedule(t, gocron.WithDistributedElector(c.elector), c.elector.Task(work), options...)
	return c
}

// TestLostLeadership loses the leadership during a job: the job ends, and fails, and another replica leads.
func TestLostLeadership(t *testing.T) {
	onServer(t, func(t *testing.T, s *hasptest.Server) {
		var r runs
		var f failures
		one := campaign(t, s, r.work(time.Hour), f.listen())
		synctest.Wait()
		other := campaign(t, s, r.work(time.Hour))
		require.Equal(t, 1, r.after(time.Minute+time.Second).now)
		require.NoError(t, one.elector.IsLeader(t.Context()))
		require.ErrorIs(t, other.elector.IsLeader(t.Context()), gocronhasp.ErrNotLeader)

		s.Lose(election)
		require.Equal(t, counts{most: 1, ended: 1}, r.after(10*time.Second)) // a third of the lease
		require.Len(t, f.runs.all(), 1)
		require.ErrorIs(t, f.runs.all()[0], primitives.ErrLost)
		require.ErrorIs(t, one.elector.IsLeader(t.Context()), gocronhasp.ErrNotLeader)
		require.NoError(t, other.elector.IsLeader(t.Context()))
	})
}

// TestLeaderLeaves has the leader leave during a job that takes a while to end: another replica leads only then.
func TestLeaderLeaves(t *testing.T) {
	onServer(t, func(t *testing.T, s *hasptest.Server) {
		one := campaign(t, s, func(ctx context.Context, run gocronhasp.Run) error {
			require.NoError(t, run.Lease.Err())
			<-ctx.Done()
			time.Sleep(10 * time.Second)
			return context.Cause(ctx)
		})
		synctest.Wait()
		other := campaign(t, s, func(context.Context, gocronhasp.Run) error { return nil })
		time.Sleep(time.Minute + time.Second)
		one.resign()
		time.Sleep(9 * time.Second)
		require.Empty(t, one.ended)
		require.ErrorIs(t, other.elector.IsLeader(t.Context()), gocronhasp.ErrNotLeader)
		require.ErrorIs(t, one.elector.IsLeader(t.Context()), gocronhasp.ErrNotLeader)
		require.NoError(t, <-one.ended)
		synctest.Wait()
		require.NoError(t, other.elector.IsLeader(t.Context()))
		third := campaign(t, s, func(context.Context, gocronhasp.Run) error { return nil })
		synctest.Wait()
		third.resign()
		require.NoError(t, <-third.ended, "it does not lead, and leaves")
	})
}

// TestJobThatIgnoresItsContext goes on after the loss of the leadership, and fails: the error is that of both.
func TestJobThatIgnoresItsContext(t *testing.T) {
	onServer(t, func(t *testing.T, s *hasptest.Server) {
		var f failures
		causes := make(chan error, 1)
		campaign(t, s, func(ctx context.Context, _ gocronhasp.Run) error {
			s.Lose(election)
			time.Sleep(20 * time.Second)
			causes <- context.Cause(ctx)
			return io.ErrUnexpectedEOF
		}, f.listen())
		time.Sleep(90 * time.Second)
		synctest.Wait()
		require.ErrorIs(t, <-causes, primitives.ErrLost)
		require.Len(t, f.runs.all(), 1)
		require.ErrorIs(t, f.runs.all()[0], primitives.ErrLost)
		require.ErrorIs(t, f.runs.all()[0], io.ErrUnexpectedEOF)
	})
}

func TestElectorWithoutRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		elector := gocronhasp.NewElector(hasptest.New(t).Client(nil).NewElection(election, nil))
		require.ErrorIs(t, elector.IsLeader(t.Context()), gocronhasp.ErrNotLeader)
		called := false
		task := elector.Task(func(context.Context, gocronhasp.Run) error { called = true; return nil })
		require.ErrorIs(t, task(t.Context()), gocronhasp.ErrNotLeader)
		require.False(t, called)
	})
}
