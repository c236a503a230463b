package primitives

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// writeField returns the hash field of a writer. The field of a reader is its owner alone.
func writeField(owner string) string { return owner + ":write" }

// leasableRead is a read-write lock, for its readers' leases.
type leasableRead ReadWriteLock

// Acquire implements [extend.Leasable]. If ctx re-enters a write lease, that writer does not refuse
// its own reader.
func (l *leasableRead) Acquire(
	ctx context.Context, r backend.ScriptRunner, owner string, length time.Duration,
) (int64, extend.Answer, error) {
	result, err := script.ReadAcquire(ctx, r, script.ReadAcquireParams{
		Lock: l.read.base.Key(), Side: l.read.readers, Token: l.read.tokenKey, Waiting: l.read.writers,
		Owner: owner, Writer: l.write.base.Holder(ctx), Lease: length, Tokenttl: &l.read.tokenTTL,
		Standback: l.read.preferWriters, Publish: l.read.publish(), Released: l.read.channel,
		Asks: l.read.base.AsksRights(),
	})
	answer := extend.Answer{Granted: result.TokenOK, RetryIn: atLeastSome(result.Wait)}
	switch {
	case answer.Granted:
		answer.Free = readWriteUnits - 1
	case result.Free: // For a waiting writer of this client: a message may have woken only readers.
		answer.Free = readWriteUnits
	}
	return result.Token, answer, err
}

func (l *leasableRead) Release(ctx context.Context, r backend.ScriptRunner, owner string) (bool, error) {
	return l.read.release(ctx, r, owner)
}

func (l *ReadLock) release(ctx context.Context, r backend.ScriptRunner, owner string) (bool, error) {
	return script.ReadRelease(ctx, r, script.ReadReleaseParams{
		Lock: l.base.Key(), Side: l.readers, Waiting: l.writers, Owner: owner,
		Publish: l.publish(), Released: l.channel, Standback: l.preferWriters,
	})
}

// leasableWrite is a read-write lock, for its writer's lease.
type leasableWrite struct {
	*ReadWriteLock
	waits bool // after a refusal, with a place for which readers stand back
}

// Acquire implements [extend.Leasable]. Under a context of a read lease the writer would wait for
// itself.
func (l *leasableWrite) Acquire(
	ctx context.Context, r backend.ScriptRunner, owner string, length time.Duration,
) (int64, extend.Answer, error) {
	if l.read.base.Holder(ctx) != "" || l.waits && l.read.base.CheckSelfDeadlock(ctx) != nil {
		return 0, extend.Answer{}, ErrUpgrade
	}
	s := &l.write
	result, err := script.WriteAcquire(ctx, r, script.WriteAcquireParams{
		Lock: s.base.Key(), Side: s.readers, Token: s.tokenKey, Waiting: s.writers,
		Owner: owner, Lease: length, Tokenttl: &s.tokenTTL,
		Prefer: s.preferWriters, Queue: s.preferWriters && l.waits,
		Publish: s.publish(), Released: s.channel, Asks: s.base.AsksRights(),
	})
	answer := extend.Answer{
		Granted: result.TokenOK, RetryIn: atLeastSome(result.Wait), Queued: s.preferWriters && l.waits,
	}
	if result.Reading {
		answer.Free = readWriteUnits - 1
	}
	return result.Token, answer, err
}

func (l *leasableWrite) Release(ctx context.Context, r backend.ScriptRunner, owner string) (bool, error) {
	return l.write.release(ctx, r, owner)
}

func (l *WriteLock) release(ctx context.Context, r backend.ScriptRunner, owner string) (bool, error) {
	return script.WriteRelease(ctx, r, l.base.Key(), l.readers, l.writers, owner, l.publish(), l.channel)
}

// readScripts renew and release the leases of many readers of a client. A renewal names only the reader's own side key.
var readScripts = &leaseScripts{
	objects: "read locks", channel: sideNames(readWriteChannel),
	renewed: func(key, owner string) []string {
		return []string{key, extend.Tagged(key) + ":" + owner + ":rwlock_timeout:1"}
	},
	freed: readWriteKeys,
	renew: renewing(script.ReadRenew, onlyStatuses), release: publishing(script.ReadReleaseAll),
}

// writeScripts renew and release the leases of many writers of a client.
var writeScripts = &leaseScripts{
	objects: "write locks", channel: sideNames(readWriteChannel), freed: readWriteKeys,
	renew:   renewing(script.WriteRenew, func(r script.WriteRenewResult) ([]int64, []string) { return r.Status, r.Others }),
	release: publishing(script.WriteReleaseAll),
}

// readWriteKeys returns a lock's own key, the beginning of its readers' side keys, and the key of its waiting writers.
func readWriteKeys(key, _ string) []string {
	return []string{key, extend.Tagged(key), extend.SideName(waitingWritersKey, key)}
}
