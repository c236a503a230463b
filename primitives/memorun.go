package primitives

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/worded"
	"github.com/hasp-go/hasp/primitives/lease"
)

// memoAnswer is what a call of Do has found out about a key: an encoded result, or an error.
type memoAnswer struct {
	encoded string
	err     error
	own     bool // the result is of this call's work, and err says why it is not kept
}

// memoRun is one caller of a memo, and its run if it has one.
type memoRun struct {
	key  *memoKey
	work func(ctx context.Context, run MemoRun) (memoAnswer, error)

	ctx     context.Context //nolint:containedctx // That of work, for MemoRun.Detached.
	lease   *Lease          // nil: work was not called
	nothing atomic.Bool     // KeepNothing has stored that the result is not kept
	answer  *memoAnswer     // of a run that has one; nil: the error of work or of the release
	shares  bool            // others may have the answer
}

// share is the way of Do: calls of one client for the same key and fingerprint share an answer.
func (r *memoRun) share(ctx context.Context) memoAnswer {
	k := r.key
	name := strconv.Quote(k.base.Key()) + k.memo.call.Fingerprint // No two are one.
	answer, err := k.memo.client.memoFlights.do(ctx, name, func(one *flight, asking func()) (memoAnswer, bool) {
		k.flight, k.asking, k.config.Waited = one, asking, one.busy.Load()
		return r.ask(ctx, (*extend.Leases).Acquire)
	})
	if err != nil {
		return memoAnswer{err: k.described("acquire", worded.WithCause(ctx, err))}
	}
	answer.own = answer.own && r.lease != nil
	return answer
}

// try is the way of TryDo.
func (r *memoRun) try(ctx context.Context) memoAnswer {
	answer, _ := r.ask(ctx, (*extend.Leases).TryAcquire)
	return answer
}

// ask asks the server for an answer, or makes one by work. It reports whether others may have it.
func (r *memoRun) ask(
	ctx context.Context, acquire func(*extend.Leases, context.Context) (*Lease, error),
) (answer memoAnswer, shared bool) {
	lock := func(ctx context.Context) (*Lease, error) { return r.key.acquireBy(ctx, r.key, r.key.config, acquire) }
	err := lease.Do(ctx, lock, r.run)
	var kept *keptResult
	switch {
	case r.answer != nil:
		return *r.answer, r.shares
	case r.lease != nil:
		var failed *ReleaseError
		return memoAnswer{err: err}, r.shares && !errors.As(err, &failed)
	case errors.As(err, &kept):
		return memoAnswer{encoded: kept.encoded}, true
	}
	if !errors.Is(err, ErrNotKept) && !errors.Is(err, ErrOtherFingerprint) {
		r.key.asking() // The others need not find out for themselves that the server does not answer.
	}
	return memoAnswer{err: err}, ctx.Err() == nil
}

// run runs work under l, and stores its result. An answer makes the error of the release superfluous: the store has
// freed the lock, or another run holds it.
func (r *memoRun) run(ctx context.Context, l *Lease) error {
	r.ctx, r.lease = ctx, l
	made, err := r.work(ctx, MemoRun{Lease: l, now: r})
	switch {
	case err != nil:
		r.key.asking()
		r.shares = !r.nothing.Load() && ctx.Err() == nil && l.Err() == nil
		return err
	case l.Err() != nil:
		return nil // The release reports it.
	case r.nothing.Load():
		r.answer, r.shares = &memoAnswer{own: true, err: r.key.described("keep the result of", ErrNotKept)}, true
		return nil
	}
	result, err := r.key.store(ctx, l, made, true)
	r.answer, r.shares = &memoAnswer{encoded: result.Other, err: err}, result.Stored || result.OtherOK
	switch {
	case result.Stored:
		l.Forget()
		*r.answer = made
	case err == nil && !result.OtherOK:
		r.answer.err = r.key.described("store the result of", ErrLost)
	}
	return nil
}
