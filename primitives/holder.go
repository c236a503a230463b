package primitives

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// Holder is the present holder of a lock, as [Lock.Holder] returns it. Only Owner is known if the holder stored no
// [LockOptions.Metadata], as all Java processes do, and of any lock that is no [Lock] and no [FencedLock].
type Holder struct {
	Owner    string // see [Lease.Owner]; it begins with the holder's [Client.ID]
	Revoked  bool   // there is no holder: [Lock.Revoke] keeps the lock until the lease has ended. Owner is zeros
	Host     string // the name of the host on which the holder's process runs; "" if it stored none
	PID      int    // of the process; 0 if it stored none
	Metadata string
	Since    time.Time // of the grant, by the server's clock
}

// maxMetadata is the most bytes of [LockOptions.Metadata].
const maxMetadata = 1024

func checkMetadata(text string) error {
	if len(text) > maxMetadata {
		return &FieldError{Field: "Metadata", Problem: fmt.Sprintf("%d bytes are more than %d", len(text), maxMetadata)}
	}
	return nil
}

// hostname returns the name of this host, or "" if it has none.
var hostname = sync.OnceValue(func() string {
	name, _ := os.Hostname() //nolint:errcheck // Without a name, the process has still its id.
	return name
})

// describe returns what grants of l store about their holder, in lines.
func (l *exclusiveLock) describe(metadata string) string {
	host, pid := hostname(), os.Getpid()
	if l.anonymous {
		host, pid = "", 0
	}
	return host + "\n" + strconv.Itoa(pid) + "\n" + metadata
}

// candidateID returns an id of a client's process that no other client has.
func candidateID(client string) string {
	return fmt.Sprintf("%s:%d:%s", hostname(), os.Getpid(), client)
}

// Holder returns the present holder of the lock. If the lock is free, the error wraps [ErrNotHeld].
// The holder stores more about itself than its Owner only with [LockOptions.Metadata]. Owner begins
// with [Options].IDPrefix of the holder's client, such as the pod's name, if that is set. When Holder
// returns, the lock may already have another holder: use the answer for messages, not to decide
// which process works. It takes one round trip. Other errors are the same as for IsHeldBy.
func (l *exclusiveLock) Holder(ctx context.Context) (Holder, error) {
	key := extend.SideName(lockHolderKey, l.base.Key())
	base := l.base.WithTypedKey("holder's key", key, "string").WithRights(&describedRights)
	return extend.Call(ctx, &base, l.invalid, "query", func() (Holder, error) {
		found, err := script.LockHolder(ctx, base.Runner(), base.Key(), key)
		switch {
		case err != nil:
			return Holder{}, err
		case !found.FieldOK:
			return Holder{}, ErrNotHeld
		}
		return holderOf(fieldOwner(found.Field), found.Stored), nil
	})
}

// Holder returns the Owner of the present holder of the lock: see [Lock.Holder].
func (l *ownedLock) Holder(ctx context.Context) (Holder, error) { return l.holderBy(ctx, fieldOwner) }

// Holder returns the Owner of the present run of the job, or of another holder of the [Lock] of its name: see
// [Lock.Holder].
func (j *PeriodicJob) Holder(ctx context.Context) (Holder, error) {
	return j.lock.ownedLock.Holder(ctx)
}

// Holder returns the Owner of the present writer: see [Lock.Holder]. If there is none, the error wraps [ErrNotHeld].
func (l *WriteLock) Holder(ctx context.Context) (Holder, error) {
	return l.holderBy(ctx, func(field string) string {
		if owner := fieldOwner(field); owner != field {
			return owner
		}
		return "" // It is a reader's.
	})
}

// holderBy asks the server for the field of the owner that holds the lock. owner returns the owner of a field, or "".
func (o *object) holderBy(ctx context.Context, owner func(field string) string) (Holder, error) {
	return extend.Call(ctx, &o.base, o.invalid, "query", func() (Holder, error) {
		field, held, err := script.LockOwner(ctx, o.base.Runner(), o.base.Key())
		found := holderOf(owner(field), "")
		if err == nil && (!held || found.Owner == "") {
			err = ErrNotHeld
		}
		return found, err
	})
}

// fieldOwner returns the owner of a field of a lock's hash: a writer's field has a suffix.
func fieldOwner(field string) string { return strings.TrimSuffix(field, writeField("")) }

// holderOf reads what a grant has stored. If another owner stored it, only owner is known.
func holderOf(owner, stored string) Holder {
	lines := strings.SplitN(stored, "\n", 5)
	if len(lines) != 5 || lines[0] != owner {
		return Holder{Owner: owner, Revoked: owner == script.Nobody}
	}
	since, err := strconv.ParseInt(lines[1], 10, 64)
	pid, noPID := strconv.Atoi(lines[3])
	if err != nil || noPID != nil {
		return Holder{Owner: owner}
	}
	return Holder{Owner: owner, Host: lines[2], PID: pid, Metadata: lines[4], Since: time.UnixMicro(since)}
}

// describedLock is a lock whose grants store a description of their holder.
type describedLock struct {
	*exclusiveLock
	holderKey   string
	granted     string // the channel of the grants
	description string
}

// described returns l with grants that store the metadata.
func (l *exclusiveLock) described(metadata string) *describedLock {
	key := l.base.Key()
	d := &describedLock{
		exclusiveLock: l, holderKey: extend.SideName(lockHolderKey, key),
		granted: extend.SideName(lockHolderChannel, key), description: l.describe(metadata),
	}
	l.base = l.base.WithTypedKey("holder's key", d.holderKey, "string").WithRights(&describedRights)
	l.reject(checkMetadata(metadata))
	return d
}

// Acquire implements [extend.Leasable].
func (l *describedLock) Acquire(
	ctx context.Context, r backend.ScriptRunner, owner string, lease time.Duration,
) (int64, extend.Answer, error) {
	answer, err := script.HolderAcquire(ctx, r, script.HolderAcquireParams{
		Lock: l.base.Key(), Token: l.tokenKey, Holder: l.holderKey, Owner: owner, Lease: lease,
		Tokenttl: l.tokenTTL, Description: l.description,
		Publish: l.publish(), Released: l.channel, Granted: l.granted, Asks: l.base.AsksRights(),
	})
	return lockAnswer(answer, err)
}

func (l *describedLock) Release(ctx context.Context, r backend.ScriptRunner, owner string) (bool, error) {
	released, err := script.HolderRelease(ctx, r, l.base.Key(), l.holderKey, owner, l.publish(), l.channel)
	return noteRelease(r, released, err)
}

// describedScripts renew and release many described locks of a client.
var describedScripts = &leaseScripts{
	objects: "locks", channel: sideNames(lockChannel), renewed: withHolder, freed: withHolder,
	renew:   renewing(script.HolderRenew, func(r script.HolderRenewResult) ([]int64, []string) { return r.Status, r.Others }),
	release: publishing(script.HolderReleaseAll),
}

func withHolder(key, _ string) []string { return []string{key, extend.SideName(lockHolderKey, key)} }
