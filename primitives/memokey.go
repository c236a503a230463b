package primitives

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// memoMark begins the metadata of a run's lock: the fingerprint follows.
const memoMark = "memo\n"

// memoKey is one key of a memo: the lock of its run, whose metadata has the fingerprint, and the record of its result.
type memoKey struct {
	*describedLock
	memo   *memo
	record extend.Object
	config extend.LeaseConfig // of the lock
	flight *flight            // of the callers that share the answer
	asking func()             // is called before each question to the server
}

// key returns the key of m called name. It escapes the name: no two keys are one, and braces are those of m's name.
func (m *memo) key(name string) *memoKey {
	lock, fingerprint := new(exclusiveLock), m.call.Fingerprint
	config := lock.configure(m.client, memoKind, m.Name()+":"+url.QueryEscape(name),
		&LockOptions{Metadata: memoMark + fingerprint}, &m.client.tokenTTL)
	k := &memoKey{memo: m, config: config, flight: new(flight), asking: func() {}}
	k.describedLock, _ = config.Leasable.(*describedLock)
	record := extend.Tagged(k.base.Key()) + memoRecordKey
	k.base = k.base.WithRights(rights[memoKind])
	k.record = k.base.WithKey(record).WithTypedKey("lock key", k.base.Key(), "hash")
	k.base = k.base.WithTypedKey("key of the record", record, "hash")
	k.invalid = m.invalid
	if name == "" {
		k.reject(&FieldError{Field: "key", Problem: "empty"})
	}
	if n, most := len(fingerprint), maxMetadata-len(memoMark); n > most {
		k.reject(&FieldError{Field: "Fingerprint", Problem: fmt.Sprintf("%d bytes are more than %d", n, most)})
	}
	return k
}

// check returns the error of a call that must not begin: it would wait for its own run, for example.
func (k *memoKey) check(ctx context.Context) error {
	return k.do(ctx, k.invalid, "acquire", func() error {
		return cmp.Or(k.notReentered(ctx), k.base.CheckSelfDeadlock(ctx))
	})
}

// Acquire implements [extend.Leasable]. So each try of a waiter looks whether there is an answer.
func (k *memoKey) Acquire(
	ctx context.Context, r backend.ScriptRunner, owner string, lease time.Duration,
) (int64, extend.Answer, error) {
	k.asking()
	found, err := script.MemoAcquire(ctx, r, script.MemoAcquireParams{
		Lock: k.base.Key(), Token: k.tokenKey, Holder: k.holderKey, Record: k.record.Key(), Owner: owner, Lease: lease,
		Tokenttl: k.tokenTTL, Description: k.description, Fingerprint: k.memo.call.Fingerprint,
		Publish: k.publish(), Released: k.channel, Asks: k.base.AsksRights(),
	})
	switch {
	case err != nil || found.Answer != 0:
		k.flight.busy.Store(err == nil || k.flight.busy.Load())
		return lockAnswer(found.Answer, err)
	case found.Other:
		return 0, extend.Answer{}, ErrOtherFingerprint
	case !found.ResultOK:
		return 0, extend.Answer{}, ErrNotKept
	}
	return 0, extend.Answer{}, &keptResult{found.Result}
}

// keptResult is the error of an acquire that was not granted, since the server keeps the result.
type keptResult struct{ encoded string }

func (*keptResult) Error() string { return "the result is kept" }

// store stores what the run of l has made, or that it is not kept, unless the run has lost its lock: then it returns
// the result of another run, if there is one.
func (k *memoKey) store(
	ctx context.Context, l *Lease, made memoAnswer, ends bool,
) (script.MemoStoreResult, error) {
	stored, err := k.storeOnce(ctx, l, made, ends)
	if err == nil || !backend.MayHaveRun(err) {
		return stored, err
	}
	// The outcome is unknown, and a second store learns it: the script answers for this owner what it has done.
	if asked, again := k.storeOnce(ctx, l, made, ends); again == nil {
		return asked, nil
	}
	return stored, err
}

// storeOnce is store with one request. The run is done, even if ctx has ended.
func (k *memoKey) storeOnce(
	ctx context.Context, l *Lease, made memoAnswer, ends bool,
) (script.MemoStoreResult, error) {
	k.asking()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), completeTimeout)
	defer cancel()
	return extend.Call(ctx, &k.record, nil, "store the result of", func() (script.MemoStoreResult, error) {
		return script.MemoStore(ctx, k.record.Insistent(), script.MemoStoreParams{
			Lock: k.base.Key(), Holder: k.holderKey, Record: k.record.Key(), Owner: l.Owner(),
			Fingerprint: k.memo.call.Fingerprint, Kept: made.err == nil, Result: made.encoded, Keep: k.memo.opts.Keep, Ends: ends,
			Publish: k.publish(), Released: k.channel,
		})
	})
}

// described returns err with the operation, as [extend.Call] does, for what sends nothing.
func (k *memoKey) described(operation string, err error) error {
	return fmt.Errorf("%s %s %q: %w", operation, memoKind, k.Name(), err)
}
