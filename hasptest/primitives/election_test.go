package primitives_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hasp-go/hasp/primitives"
)

// polity is an election in virtual time, with all of its candidates.
type polity struct {
	*server
	t       *testing.T
	terms   chan *leading // that have begun
	leaders atomic.Int64  // at this moment
	overlap atomic.Bool   // two have led at once
}

// candidate is a process that runs in the election, over a link of its own.
type candidate struct {
	*primitives.Election
	polity *polity
	link   *cutLink
	leave  context.CancelFunc
	left   chan error // what Run has returned
}

// leading is one term. It lasts until its context ends.
type leading struct {
	by    *candidate
	token int64
	began time.Time
	ended chan error // the cause, when the context has ended
}

func holdElections(t *testing.T, test func(t *testing.T, p *polity)) {
	t.Helper()
	virtual(t, func(t *testing.T, s *server) {
		p := &polity{server: s, t: t, terms: make(chan *leading, 100)}
		test(t, p)
		require.False(t, p.overlap.Load(), "two led at once")
	})
}

// stand adds a candidate. Run has returned when the test ends.
func (p *polity) stand(opts *primitives.Options) *candidate {
	p.t.Helper()
	return p.standFor(opts, nil)
}

// standFor is stand with options of the election.
func (p *polity) standFor(opts *primitives.Options, election *primitives.ElectionOptions) *candidate {
	p.t.Helper()
	c := &candidate{polity: p, link: &cutLink{server: p.server}, left: make(chan error, 1)}
	c.Election = p.over(p.t, c.link, opts).NewElection("x", election)
	ctx, leave := context.WithCancel(p.t.Context())
	c.leave = leave
	go func() { c.left <- c.Run(ctx, c.lead) }()
	p.t.Cleanup(func() {
		leave()
		c.link.cut.Store(false)
	})
	return c
}

// lead leads until ctx ends.
func (c *candidate) lead(ctx context.Context, lease *primitives.Lease) error {
	term := &leading{c, lease.Token(), time.Now(), make(chan error, 1)}
	if c.polity.leaders.Add(1) > 1 {
		c.polity.overlap.Store(true)
	}
	c.polity.terms <- term
	<-ctx.Done()
	c.polity.leaders.Add(-1)
	term.ended <- context.Cause(ctx)
	return nil
}

// next waits for the next term.
func (p *polity) next() *leading {
	p.t.Helper()
	term := <-p.terms
	require.True(p.t, term.by.IsLeader())
	return term
}

// TestElectionAfterACut cuts the leader off: another leads when its lease has ended, and not before the leader's context.
// When the link is whole again, the former leader waits, and leads after the other.
func TestElectionAfterACut(t *testing.T) {
	holdElections(t, func(t *testing.T, p *polity) {
		core, logs := observer.New(zap.WarnLevel)
		one := p.stand(&primitives.Options{Logger: zap.New(core)})
		first := p.next()
		other := p.stand(nil)
		synctest.Wait()
		cut := time.Now()
		one.link.cut.Store(true)
		require.ErrorIs(t, <-first.ended, primitives.ErrLost)
		require.False(t, one.IsLeader())
		require.Empty(t, p.terms)
		second := p.next()
		require.Equal(t, other, second.by)
		require.InDelta(t, 30, second.began.Sub(cut).Seconds(), 0.1)
		time.Sleep(time.Hour)
		require.Len(t, logs.FilterMessage("not the leader any more").All(), 1)
		require.Len(t, logs.FilterMessage("campaigning failed, and is repeated").All(), 1, "of all failures")
		one.link.cut.Store(false)
		time.Sleep(time.Minute)
		require.Empty(t, p.terms)
		other.leave()
		require.Equal(t, one, p.next().by)
	})
}

// TestElectionUnderMaxHold has each term end after the longest time that the client allows.
func TestElectionUnderMaxHold(t *testing.T) {
	holdElections(t, func(t *testing.T, p *polity) {
		p.standFor(&primitives.Options{MaxHold: time.Minute}, &primitives.ElectionOptions{Lease: 5 * time.Second})
		term := p.next()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.False(t, term.by.IsLeader())
		require.ErrorIs(t, <-term.ended, primitives.ErrLost)
		again := p.next()
		time.Sleep(time.Minute - time.Millisecond)
		require.True(t, again.by.IsLeader())
		client := p.client(t, &primitives.Options{MaxHold: time.Minute})
		long := client.NewElection("y", &primitives.ElectionOptions{Lease: 2 * time.Minute})
		require.ErrorAs(t, long.Run(t.Context(), nil), new(*primitives.FieldError))
	})
}

// TestElectionReturnsWhatLeadFailedWith has lead fail after its term was lost or resigned. An error that only says that
// the context has ended makes Run campaign again.
func TestElectionReturnsWhatLeadFailedWith(t *testing.T) {
	holdElections(t, func(t *testing.T, p *polity) {
		failed := errors.New("no space")
		for name, end := range map[string]func(*primitives.Election){
			"Lost":     func(*primitives.Election) { p.lose("x") },
			"Resigned": (*primitives.Election).Resign,
		} {
			e := p.client(t, nil).NewElection("x", nil)
			var terms int
			whole := within(t, time.Hour)
			err := e.Run(whole, func(ctx context.Context, _ *primitives.Lease) error {
				end(e)
				<-ctx.Done()
				terms++
				return []error{nil, ctx.Err(), fmt.Errorf("query: %w", ctx.Err()), context.Cause(ctx), failed}[min(terms, 5)-1]
			})
			require.ErrorIs(t, err, failed, name)
			require.Equal(t, name == "Lost", errors.Is(err, primitives.ErrLost))
			require.Equal(t, 5, terms)
			require.Empty(t, p.holder("x"))
		}
	})
}

// TestElectionAfterResigning has leaders resign: the other candidate leads, and the only one leads again.
func TestElectionAfterResigning(t *testing.T) {
	holdElections(t, func(t *testing.T, p *polity) {
		one := p.stand(nil)
		first := p.next()
		one.Resign()
		require.False(t, one.IsLeader())
		require.ErrorIs(t, <-first.ended, primitives.ErrResigned)
		second := p.next()
		require.Equal(t, one, second.by)
		require.Equal(t, time.Second, second.began.Sub(first.began).Round(100*time.Millisecond))
		other := p.stand(nil)
		for _, next := range []*candidate{other, one, other} {
			synctest.Wait()
			time.Sleep(time.Minute)
			one.Resign() // At most one of them leads.
			other.Resign()
			require.Equal(t, next, p.next().by)
		}
	})
}

// TestElectionWaitsForLead has a leader whose lead returns long after its loss: until then it does not campaign.
func TestElectionWaitsForLead(t *testing.T) {
	holdElections(t, func(t *testing.T, p *polity) {
		e := p.client(t, nil).NewElection("x", nil)
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		var terms atomic.Int64
		go func() {
			_ = e.Run(ctx, func(ctx context.Context, _ *primitives.Lease) error {
				terms.Add(1)
				<-ctx.Done()
				time.Sleep(time.Hour)
				return ctx.Err()
			})
		}()
		synctest.Wait()
		p.lose("x")
		time.Sleep(59 * time.Minute)
		require.Equal(t, 1, p.called("holder_acquire"))
		require.False(t, e.IsLeader())
		time.Sleep(2 * time.Minute)
		require.EqualValues(t, 2, terms.Load())
		leave()
		time.Sleep(2 * time.Hour)
	})
}

// TestElectionWithoutAServer begins in an outage, or while the server takes no writes, and leads after it.
func TestElectionWithoutAServer(t *testing.T) {
	for name, outage := range map[string]fault{
		"Down": down, "RepliesLost": {after: time.Millisecond, broken: true}, "MemoryFull": readerOnly("OOM"),
	} {
		t.Run(name, func(t *testing.T) {
			holdElections(t, func(t *testing.T, p *polity) {
				core, logs := observer.New(zap.WarnLevel)
				p.fault = func(string) fault { return outage }
				began := time.Now()
				p.stand(&primitives.Options{Logger: zap.New(core)})
				time.Sleep(time.Minute)
				require.Less(t, p.called("holder_acquire"), 40, "pauses grow")
				p.faults(fault{})
				require.LessOrEqual(t, p.next().began.Sub(began), time.Minute+5*time.Second)
				synctest.Wait()
				require.Len(t, logs.FilterMessage("campaigning failed, and is repeated").All(), 1)
			})
		})
	}
}

// TestElectionEnds with the context of a candidate, with its client, and for a bad name.
func TestElectionEnds(t *testing.T) {
	holdElections(t, func(t *testing.T, p *polity) {
		client := p.client(t, nil)
		never := func(context.Context, *primitives.Lease) error { panic("it leads") }
		require.ErrorAs(t, client.NewElection("", nil).Run(t.Context(), never), new(*primitives.FieldError))
		p.fault = func(string) fault { return down }
		ctx := within(t, time.Minute)
		require.NoError(t, client.NewElection("y", nil).Run(ctx, never))
		require.NoError(t, client.NewElection("y", nil).Run(ctx, never), "it had ended before")
		require.ErrorAs(t, client.NewElection("", nil).Run(ctx, never), new(*primitives.FieldError))
		p.fault = func(string) fault { return fault{} }
		one := p.stand(nil)
		p.next()
		waiting := p.stand(nil)
		synctest.Wait()
		waiting.leave()
		require.NoError(t, <-waiting.left)
		require.NoError(t, client.Close(t.Context()))
		require.ErrorIs(t, client.NewElection("x", nil).Run(t.Context(), never), primitives.ErrClosed)
		one.leave()
		require.NoError(t, <-one.left)
	})
}
