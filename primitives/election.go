package primitives

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
)

const (
	// termPause is how long Run waits after a term before it campaigns again so that other
	// candidates come first.
	termPause = time.Second

	// The pause after a failure to campaign doubles from minCampaignPause to maxCampaignPause.
	minCampaignPause = 100 * time.Millisecond
	maxCampaignPause = 5 * time.Second
)

// ElectionOptions configure an [Election]. The zero value of each field means its default.
type ElectionOptions struct {
	// ID names this candidate for others: [Leader] has it while the candidate leads. One line. "" means
	// the host's name, the process id and the client's id. With any other ID the server gets neither
	// the host's name nor the process id.
	ID string

	// Value is a text of the candidate's, such as its address, which Leader has, too. ID and Value have
	// at most 1000 bytes together.
	Value string

	// Lease is the length of this candidate's lease while it leads. The watchdog renews the lease every
	// third of that time. If the leader crashes, another process leads when the lease ends: between
	// two thirds of Lease and Lease after the crash. A leader that cannot renew stops leading after
	// nine tenths of Lease, or Lease without [Options].ClockDrift: so a shorter lease survives only a
	// shorter outage. Candidates may have different leases: the leader's counts. In whole
	// milliseconds, at least 100 ms, and at most [Options].MaxHold if that is set. Zero means the
	// client's WatchdogLease.
	Lease time.Duration

	// Replicas and ReplicaTimeout are as in [LockOptions], for this candidate's election and each renewal.
	Replicas       int
	ReplicaTimeout time.Duration

	_ struct{}
}

// Election chooses a leader among all processes that call Run of an Election with the same name. At any
// time at most one process leads: the leader is the holder of the [Lock] of that name, with a lease
// that the watchdog renews. The others wait to take over. [Options].MaxHold bounds each term: when it
// has passed, the leadership is lost.
//
// # Guarantees
//
// The leader's context ends before another process can lead, even if the network hangs. If the leader
// stops or resigns, another process leads at once. If it crashes or is cut off, another process leads
// when its lease has ended, 20 to 30 s later by default: see [ElectionOptions].Lease. The exceptions are those
// of each lock, which the package's comment names: above all, a process that is paused learns only
// when it wakes that it does not lead any more. Lease.Token rises from term to term: what a leader
// has claimed with it refuses the leaders before.
//
// The server measures the lease, and each leader measures it with its own clock from before the
// request was sent. The clocks of candidates may show different times. A clock may run slower
// than the server's by [Options].ClockDrift in a lease, a tenth by default.
//
// An Election needs no closing. It is safe for concurrent use. Run it once in each process.
//
// Source: none in Redisson. Java processes see the leader as the holder of an RLock.
type Election struct {
	lock    exclusiveLock
	watched extend.Object        // the key at which a leader describes itself, for observers
	elected string               // the channel of the elections
	term    atomic.Pointer[term] // nil: this process does not lead
}

// term is the time for which this process leads.
type term struct {
	ctx    context.Context //nolint:containedctx // Lead's, for IsLeader.
	resign context.CancelCauseFunc
}

// NewElection returns the election called name, as [Client.NewLock] does.
func (c *Client) NewElection(name string, opts *ElectionOptions) *Election {
	o := *cmp.Or(opts, new(ElectionOptions))
	e := &Election{}
	identity, err := o.identity(c)
	e.lock.anonymous = o.ID != ""
	config := e.lock.configure(c, "election", name, &LockOptions{
		Metadata: identity, Lease: o.Lease, Replicas: o.Replicas, ReplicaTimeout: o.ReplicaTimeout,
	}, &c.tokenTTL)
	e.lock.reject(err)
	config.Renewed = true
	e.lock.newLeases(config)
	key := e.lock.base.Key()
	e.watched = e.lock.base.WithKey(extend.SideName(lockHolderKey, key))
	e.elected = extend.SideName(lockHolderChannel, key)
	return e
}

// Name returns the election's name, without the client's prefix.
func (e *Election) Name() string { return e.lock.Name() }

// Rights is [Lock.Rights] of this election.
func (e *Election) Rights() []string { return e.lock.Rights() }

// MissingRights is [Lock.MissingRights] of this election.
func (e *Election) MissingRights(ctx context.Context) ([]string, error) {
	return e.lock.MissingRights(ctx)
}

// Run waits until this process is elected, and then calls lead, which leads until it returns. lead
// gets a context that ends when the leadership ends, and the lease, whose token is higher than the
// token of each earlier leader. lead must return when its context ends, and must not release the
// lease. Before each write it may ask ctx.Err(), which reads the clock.
//
// If the leadership is lost, Run waits for lead to return, and campaigns again. After [Election.Resign]
// it also releases the leadership first. If lead then returns an error of its own, Run ends: an error
// that matches neither the error nor the cause of lead's context. Between two terms it pauses for a second so that
// another candidate comes first. While no server can be reached, or none that accepts the client's password, or writes, Run tries
// again, with pauses of up to 5 s, from its first try on. The client's Logger receives what ended a term, and the first of several
// failures.
//
// Run returns
//
//   - when lead returns while it leads, or with an error of its own: the error of lead, or a
//     [*ReleaseError] with it if the release failed. Nil proves that lead led until it returned, except
//     after a failover;
//   - when ctx ends: if this process leads, Run waits for lead to return, releases the leadership, so
//     another process leads at once, and returns the same. If this process does not lead, Run
//     returns nil: a candidate that leaves the election has not failed;
//   - when the election cannot go on: [ErrClosed], [ErrConflict], [ErrNoPermission], [ErrNotSupported],
//     [ErrReplicas], a [*FieldError], or another error of [Lock.Lock].
//
// If lead panics, Run releases the leadership, and the panic continues.
func (e *Election) Run(ctx context.Context, lead func(ctx context.Context, lease *Lease) error) error {
	for failures := 0; ; {
		led, again, err := e.campaign(ctx, lead)
		if !led && stoppedBy(ctx, err) {
			return nil
		}
		if !again || ctx.Err() != nil {
			return err
		}
		if failures++; led {
			failures = 0
		}
		if failures <= 1 {
			e.log(led, err)
		}
		_ = e.lock.base.Pause(ctx, campaignPause(failures)) // The next campaign returns the error.
	}
}

// campaign waits until this process is elected, and has it lead for one term. again says that Run is
// to campaign again.
func (e *Election) campaign(
	ctx context.Context, lead func(ctx context.Context, lease *Lease) error,
) (led, again bool, err error) {
	lease, err := e.lock.Lock(ctx)
	if err != nil {
		return false, mayPass(err), err
	}
	ctx, resign := context.WithCancelCause(ctx)
	defer resign(nil)
	err = lease.Do(ctx, func(ctx context.Context) error {
		t := &term{ctx, resign}
		e.term.Store(t)
		defer e.term.CompareAndSwap(t, nil)
		err := lead(ctx, lease)
		again = endedTerm(ctx) && onlyEnded(ctx, err)
		return err
	})
	return true, again, err
}

// endedTerm reports whether the term of ctx was lost or ended by Resign before lead returned.
func endedTerm(ctx context.Context) bool {
	if ctx.Err() == nil {
		return false
	}
	cause := context.Cause(ctx)
	return errors.Is(cause, ErrLost) || errors.Is(cause, ErrResigned)
}

// onlyEnded reports whether err, of lead, says no more than that ctx has ended.
func onlyEnded(ctx context.Context, err error) bool {
	return err == nil || errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))
}

// Resign ends the leadership of this process, if it leads: the context of lead ends with the cause
// [ErrResigned]. Resign returns at once. When lead has returned, Run releases the leadership, and
// campaigns again after a pause, in which other candidates come first. To leave the election, end
// the context of Run.
func (e *Election) Resign() {
	if t := e.term.Load(); t != nil {
		t.resign(ErrResigned)
	}
}

// IsLeader reports whether this process leads: whether lead runs, and its context has not ended. It
// reads the clock, and sends nothing.
func (e *Election) IsLeader() bool {
	t := e.term.Load()
	return t != nil && t.ctx.Err() == nil
}

// log logs the end of a term, or a failure to campaign. The logger may block.
func (e *Election) log(led bool, err error) {
	message := "campaigning failed, and is repeated"
	if led {
		message = "not the leader any more"
	}
	e.lock.base.Go(func(context.Context, backend.ScriptRunner) {
		e.lock.base.Logger().Warn(message, zap.Error(err))
	})
}

// mayPass reports whether a campaign that failed with err may succeed later.
func mayPass(err error) bool {
	var server *backend.ServerError
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrIndeterminate) || errors.Is(err, ErrLost) ||
		errors.As(err, &server) && backend.RefusesWrites(server.Code)
}

// stoppedBy reports whether err, of an acquire or a query, says only that the end of ctx stopped it. An
// error that would also be the next call's, such as ErrClosed, says more.
func stoppedBy(ctx context.Context, err error) bool {
	if ctx.Err() == nil || err == nil {
		return false
	}
	var server *backend.ServerError
	return mayPass(err) || errors.Is(err, ErrReplicas) ||
		errors.Is(err, ctx.Err()) && !errors.Is(err, ErrClosed) && !errors.As(err, &server)
}

// campaignPause returns the pause after some failures in a row, or after a term.
func campaignPause(failures int) time.Duration {
	if failures == 0 {
		return termPause
	}
	most := min(minCampaignPause<<min(failures, 10), maxCampaignPause)
	return most/2 + rand.N(most/2) //nolint:gosec // Jitter.
}
