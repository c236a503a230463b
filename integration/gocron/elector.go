package gocronhasp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-co-op/gocron/v2"

	"github.com/hasp-go/hasp/primitives"
)

// ErrNotLeader means that another replica leads, or none. The job was not run.
var ErrNotLeader = errors.New("this replica does not lead")

// Elector is a [gocron.Elector], for [gocron.WithDistributedElector]: of several replicas, the leader runs all jobs.
// The replica takes part in the election while [Elector.Run] runs. It is safe for concurrent use.
// NextRun of a gocron job lies in the past on a replica that does not lead.
type Elector struct {
	election *primitives.Election

	mu   sync.Mutex
	term *term // nil: this replica does not lead
}

var _ gocron.Elector = (*Elector)(nil)

// term is the time from the election of this replica to the end of its leadership.
type term struct {
	ctx   context.Context // of lead
	lease *primitives.Lease
	jobs  sync.WaitGroup
}

// NewElector returns an Elector over an election. Each replica has its own, and calls Run.
func NewElector(election *primitives.Election) *Elector { return &Elector{election: election} }

// Run takes part in the election, and leads whenever this replica is elected, like [primitives.Election.Run]. It blocks
// until ctx ends, then waits for the running jobs of [Elector.Task] and resigns, so another replica leads
// at once, and returns nil, also on a replica that does not lead. After the loss of the leadership it takes part again, when these jobs have ended.
func (e *Elector) Run(ctx context.Context) error { return e.election.Run(ctx, e.lead) }

func (e *Elector) lead(ctx context.Context, lease *primitives.Lease) error {
	t := &term{ctx: ctx, lease: lease}
	e.set(t)
	<-ctx.Done()
	e.set(nil) // No further job joins.
	t.jobs.Wait()
	return nil
}

func (e *Elector) set(t *term) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.term = t
}

// IsLeader implements [gocron.Elector]. It returns nil if this replica leads, by the clock of its lease, and otherwise
// [ErrNotLeader]. It sends nothing.
func (e *Elector) IsLeader(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.leads()
}

// leads is IsLeader for a caller that holds mu.
func (e *Elector) leads() error {
	if e.term == nil || e.term.ctx.Err() != nil {
		return ErrNotLeader
	}
	return nil
}

// Task returns a function for [gocron.NewTask] that calls work. The context of work ends when the leadership ends, before
// another replica leads: its cause is then [primitives.ErrLost], for example. If this replica does not lead, the function
// returns [ErrNotLeader]. If work returns after the loss of the leadership, the function's error wraps ErrLost. gocron
// passes errors to listeners such as [gocron.AfterJobRunsWithError].
func (e *Elector) Task(work Work) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		t, err := e.join()
		if err != nil {
			return err
		}
		defer t.jobs.Done()
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(t.ctx, func() { cancel(context.Cause(t.ctx)) })()
		err, lost := work(ctx, Run{Lease: t.lease}), t.lease.Err()
		if err != nil && lost != nil {
			return fmt.Errorf("%w; %w", err, lost)
		}
		return cmp.Or(err, lost)
	}
}

// join adds a job to the term of this replica.
func (e *Elector) join() (*term, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.leads(); err != nil {
		return nil, err
	}
	e.term.jobs.Add(1)
	return e.term, nil
}
