// Package barrier is a primitive outside of package primitives, as anybody can write one: a cyclic
// barrier, by package primitives/extend and scripts of its own. It waits, it publishes, and its members
// have leases.
//
// # State
//
// The server keeps the number of the present generation, and the set of members who wait in it, each
// with the end of its lease by the server's clock. A member counts while its lease runs. The arrival
// that makes the members as many as the parties ends the generation: the next one begins with nobody.
// That is one script (internal/script/arrive.lua), so all members of a generation pass, or none.
//
// The number of a barrier that nobody has used for an hour is forgotten.
package barrier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/examples/ownprimitive/internal/script"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/extend"
)

// maxParties is the most members that a script should look at.
const maxParties = 10_000

// leaveTimeout is how long an Await that failed waits for the answer to its leaving.
const leaveTimeout = time.Second

// Barrier lets processes wait for each other: each calls Await, and goes on when as many have called it
// as there are parties. Then the barrier is as new.
//
// A Barrier is a name, not a resource, and safe for concurrent use: each call of Await is a member of
// its own. All processes that use a name must use the same number of parties.
//
// # Crashes
//
// A member of a process that crashes, or that is cut off, counts until its lease ends, which is the
// client's WatchdogLease. The others go on waiting: for another to take its place.
type Barrier struct {
	object  extend.Object
	want    extend.WaitSpec
	leases  extend.Leases
	parties int
	invalid error // of the arguments; each method returns it
}

// New returns the barrier called name, for at least 1 and up to 10,000 parties. It sends nothing. The
// methods return a [*primitives.FieldError] for an empty name or another number.
func New(client *primitives.Client, name string, parties int) *Barrier {
	b := &Barrier{object: client.Core().NewObject("barrier", name, "hash"), parties: parties}
	b.want = extend.WaitSpec{
		Channel:   extend.SideName("barrier", b.object.Key()),
		FreeUnits: func(string) int { return extend.AllUnits }, // All waiters of this generation may go.
	}
	leases, err := b.object.NewLeases(extend.LeaseConfig{Leasable: (*members)(b), Kind: kind{}})
	b.leases, b.invalid = leases, cmp.Or(b.object.Validate(), err, checkParties(parties))
	return b
}

func checkParties(n int) error {
	if n < 1 || n > maxParties {
		return &primitives.FieldError{
			Field: "parties", Problem: fmt.Sprintf("%d is not in 1..%d", n, maxParties),
		}
	}
	return nil
}

// Name returns the barrier's name, without the client's prefix.
func (b *Barrier) Name() string { return b.object.Name() }

// Await arrives at the barrier, and waits until as many have arrived as there are parties, until ctx
// ends, or until the client is closed. It returns nil if they have: then all of them pass. While it
// waits its lease is renewed; once the lease has ended, because no server could be reached for that time,
// Await returns [primitives.ErrLost].
//
// After an error the member does not count, and nobody has passed because of it. To be sure of that,
// Await makes the member leave when ctx ends, and waits for the answer, for up to a second. Only if the
// error wraps [primitives.ErrIndeterminate], or [primitives.ErrClosed], nobody knows: then others may have passed with this member,
// or may yet pass, until it has left in the background, or its lease has ended.
func (b *Barrier) Await(ctx context.Context) error {
	_, err := extend.Call(ctx, &b.object, b.invalid, "await", func() (struct{}, error) {
		return struct{}{}, b.await(ctx)
	})
	return err
}

func (b *Barrier) await(ctx context.Context) error {
	lease, err := b.leases.TryAcquire(ctx)
	if err != nil {
		return undecided(ctx, err)
	}
	if lease.Token() != last {
		want := b.want
		want.Need = int(lease.Token()) // See look.
		err = b.object.Wait(lease.Context(ctx), want, look{b, lease.Token()})
	}
	if err != nil {
		return b.leave(ctx, lease, err)
	}
	lease.Forget() // The generation is over, and has no members.
	return nil
}

// undecided adds to the error of an arrival that its outcome is unknown where an arrival that was made
// is only now being taken back: after a reply that came with the end of ctx, or with that of the lease.
func undecided(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, primitives.ErrLost) {
		return backend.Indeterminate(err)
	}
	return err
}

// leave takes back the arrival of a member whose waiting has failed. It returns nil if that is too late,
// because all have arrived.
func (b *Barrier) leave(ctx context.Context, lease *primitives.Lease, failed error) error {
	if err := lease.Err(); err != nil && ctx.Err() == nil {
		failed = err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	switch err := lease.Release(ctx); {
	case err == nil:
		return failed
	case !errors.Is(err, primitives.ErrNotHeld):
		return fmt.Errorf("%w: %w", failed, backend.Indeterminate(err))
	}
	// It is not there any more, or the lease had ended before. Only the generation says which.
	now, err := script.Leave(ctx, b.object.Runner(), b.object.Key(), lease.Owner())
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", failed, backend.Indeterminate(err))
	case now.Generation > lease.Token():
		return nil
	}
	return failed
}

// Waiting returns how many members wait now.
func (b *Barrier) Waiting(ctx context.Context) (int, error) {
	return extend.Call(ctx, &b.object, b.invalid, "query", func() (int, error) {
		n, err := script.Waiting(ctx, b.object.Runner(), b.object.Key())
		return int(n), err
	})
}

// look sees whether the generation is over that a member waits in. The units that are free are the
// generations that are over, and a member needs as many as the number of its own. So a member whose
// generation is not over after a gap wakes the members of earlier generations, which need less.
type look struct {
	*Barrier
	generation int64
}

// Try implements [extend.Attempt]. What lets one member pass lets all of its generation pass.
func (l look) Try(ctx context.Context) (extend.Answer, error) {
	now, _, err := script.Generation(ctx, l.object.Runner(), l.object.Key())
	if now > l.generation {
		return extend.Answer{Granted: true, Free: extend.AllUnits}, err
	}
	return extend.Answer{Free: int(now) - 1}, err
}
