package primitives

import (
	"context"
	"fmt"
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
	ctx context.Context, r backend.ScriptRunner, owner string, lease time.Duration,
) (int64, extend.Answer, error) {
	asks := l.read.base.AsksRights()
	result, err := script.ReadAcquire(ctx, r, script.ReadAcquireParams{
		Lock: l.read.base.Key(), Side: l.read.readers, Token: l.read.tokenKey, Waiting: l.read.writers,
		Owner: owner, Writer: l.write.base.Holder(ctx), Lease: lease, Tokenttl: &l.read.tokenTTL,
		Standback: l.read.preferWriters, Publish: l.read.publish(), Released: l.read.channel,
		Asks: asks,
	})
	l.read.base.NoteRights(asks && result.TokenOK)
	answer := extend.Answer{Granted: result.TokenOK, RetryIn: atLeastSome(result.Wait)}
	switch {
	case answer.Granted:
		answer.Free = readWriteUnits - 1
	case result.Free: // For a waiting writer of this client: a message may have woken only readers.
		answer.Free = readWriteUnits
	}
	return result.Token, answer, err
}

// Release implements [extend.Leasable].
func (l *leasableRead) Release(
	ctx context.Context, r backend.ScriptRunner, owner string,
) (bool, error) {
	s := &l.read
	return script.ReadRelease(ctx, r, script.ReadReleaseParams{
		Lock: s.base.Key(), Side: s.readers, Waiting: s.writers, Owner: owner,
		Publish: s.publish(), Released: s.channel, Standback: s.preferWriters,
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
	ctx context.Context, r backend.ScriptRunner, owner string, lease time.Duration,
) (int64, extend.Answer, error) {
	if l.read.base.Holder(ctx) != "" || l.waits && l.read.base.CheckSelfDeadlock(ctx) != nil {
		return 0, extend.Answer{}, ErrUpgrade
	}
	s := &l.write
	asks := s.base.AsksRights()
	result, err := script.WriteAcquire(ctx, r, script.WriteAcquireParams{
		Lock: s.base.Key(), Side: s.readers, Token: s.tokenKey, Waiting: s.writers,
		Owner: owner, Lease: lease, Tokenttl: &s.tokenTTL,
		Prefer: s.preferWriters, Queue: s.preferWriters && l.waits,
		Publish: s.publish(), Released: s.channel, Asks: asks,
	})
	s.base.NoteRights(asks && result.TokenOK)
	answer := extend.Answer{
		Granted: result.TokenOK, RetryIn: atLeastSome(result.Wait), Queued: s.preferWriters && l.waits,
	}
	if result.Reading {
		answer.Free = readWriteUnits - 1
	}
	return result.Token, answer, err
}

// Release implements [extend.Leasable].
func (l *leasableWrite) Release(
	ctx context.Context, r backend.ScriptRunner, owner string,
) (bool, error) {
	s := &l.write
	return script.WriteRelease(ctx, r, s.base.Key(), s.readers, s.writers, owner, s.publish(), s.channel)
}

// readKind renews and releases the leases of many readers of a client.
type readKind struct{ core *extend.Core }

// Renew implements [extend.LeasableKind]. It names only each reader's own side key.
func (readKind) Renew(
	ctx context.Context, r backend.ScriptRunner, keys, owners []string, lease time.Duration,
) ([]extend.Status, error) {
	holds := make([]string, 0, 2*len(keys))
	for i, key := range keys {
		holds = append(holds, key, extend.Tagged(key)+":"+owners[i]+":rwlock_timeout:1")
	}
	statuses, err := script.ReadRenew(ctx, r, holds, lease, owners)
	if err != nil {
		return nil, fmt.Errorf("renew read locks: %w", err)
	}
	return statusesOf(statuses), nil
}

// ReleaseAll implements [extend.LeasableKind].
func (k readKind) ReleaseAll(
	ctx context.Context, r backend.ScriptRunner, keys, owners []string,
) ([]extend.Status, error) {
	locks, channels := readWriteNames(keys)
	statuses, err := script.ReadReleaseAll(
		ctx, r, locks, k.core.Capabilities().Publish(), owners, channels)
	if err != nil {
		return nil, fmt.Errorf("release read locks: %w", err)
	}
	return statusesOf(statuses), nil
}

// writeKind renews and releases the leases of many writers of a client.
type writeKind struct{ core *extend.Core }

// Renew implements [extend.LeasableKind].
func (writeKind) Renew(
	ctx context.Context, r backend.ScriptRunner, keys, owners []string, lease time.Duration,
) ([]extend.Status, error) {
	statuses, err := script.WriteRenew(ctx, r, keys, lease, owners)
	if err != nil {
		return nil, fmt.Errorf("renew write locks: %w", err)
	}
	return statusesOf(statuses), nil
}

// ReleaseAll implements [extend.LeasableKind].
func (k writeKind) ReleaseAll(
	ctx context.Context, r backend.ScriptRunner, keys, owners []string,
) ([]extend.Status, error) {
	locks, channels := readWriteNames(keys)
	statuses, err := script.WriteReleaseAll(
		ctx, r, locks, k.core.Capabilities().Publish(), owners, channels)
	if err != nil {
		return nil, fmt.Errorf("release write locks: %w", err)
	}
	return statusesOf(statuses), nil
}

// readWriteNames returns three keys of each lock, and its channel. The keys are the lock's own, the
// beginning of its readers' side keys, and the key of its waiting writers.
func readWriteNames(keys []string) (locks, channels []string) {
	for _, key := range keys {
		locks = append(locks, key, extend.Tagged(key), extend.SideName(waitingWritersKey, key))
		channels = append(channels, extend.SideName(readWriteChannel, key))
	}
	return locks, channels
}
