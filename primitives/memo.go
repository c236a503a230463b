package primitives

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// memoKind names a [Memo] in errors.
const memoKind = "memo"

// MemoOptions configure a [Memo]. The zero value of each field means its default. All processes must pass the same
// options.
type MemoOptions struct {
	// Keep is how long the server keeps a result, from the time at which it was stored. In whole milliseconds, at least
	// 1 ms. Zero means 24 h.
	Keep time.Duration

	// MaxBytes is the size of the largest encoded result that is kept. Zero means 1 MiB.
	MaxBytes int

	// Marshal encodes a result, and Unmarshal decodes it into a pointer. Set both or none. Zero means json.Marshal and
	// json.Unmarshal.
	Marshal   func(value any) ([]byte, error)
	Unmarshal func(data []byte, value any) error

	_ struct{}
}

// MemoCall has the options of one call of [Memo.Do] or TryDo: see [Memo.With].
type MemoCall struct {
	// Fingerprint says what is asked under a key, such as a hash of a request's body. If the run or the result of the
	// key has another one, the call returns [ErrOtherFingerprint]. At most 1019 bytes. "" is a fingerprint, too.
	Fingerprint string

	_ struct{}
}

// Memo runs work once for each key, over all processes, and all callers get its result: for a request that comes twice,
// or for a cache that a thousand callers miss at the same instant.
//
// At most one caller at a time runs work for a key, like the holder of a [Lock]. The others wait, and get the result
// that the server keeps. After [MemoOptions].Keep, or [Memo.Forget], the next caller runs work again. Of all runs for a
// key at most one stores its result: a run stores nothing once another run was granted.
//
// If work returns an error, nothing is kept, and the next caller that waits or comes runs work. If the process crashes,
// is cut off or stops, the same happens when the lease ends, 30 s by default: work may run in part, and then again, with
// a higher Lease.Token. It may also run again if a failover loses the result. So work with an effect elsewhere, such as a
// payment, claims its place there with the token, or passes the key on: see docs/guarantees.md.
//
// Of the calls of Do with the same name, key and fingerprint on one client, one at a time talks to the server. The others
// get its result, each decoded for itself, or the error of its work. If its context or its lease ended before, or work
// panicked, another of them goes on instead.
//
// A run holds the [Lock] called NAME:KEY, with the watchdog's lease: other uses of that Lock exclude it. KEY is escaped as
// in a URL's query. [Options].MaxHold bounds each run. A Memo is a name, needs no closing, and is safe for concurrent use.
//
// Source: none in Redisson.
type Memo[T any] struct {
	memo
}

// MemoRun is one run of a [Memo], for its work.
type MemoRun struct {
	// Lease is the lease of the run, for its fencing token. The work must not release it.
	Lease *Lease

	now *memoRun
}

// NewMemo returns the memo called name, whose results are of type T. It sends nothing. Its methods return a
// [*FieldError] for an empty name or an invalid option. In a cluster a name with braces must have its hash tag in them.
func NewMemo[T any](client *Client, name string, opts *MemoOptions) *Memo[T] {
	return &Memo[T]{client.newMemo(name, cmp.Or(opts, new(MemoOptions)))}
}

// With returns m with the options of the next calls. It sends nothing, and m stays as it is.
func (m *Memo[T]) With(call *MemoCall) *Memo[T] {
	with := *m
	with.call = *cmp.Or(call, new(MemoCall))
	return &with
}

// Do returns the result that is kept for key. If there is none, Do runs work, stores its result, and returns it. While
// another caller runs work for key, Do waits: until that result is stored, or until Do can run work instead, because the
// other failed or its lease ended. ran reports whether this call has run work.
//
// work gets a context that ends if ctx ends or the lease is lost: see [MemoRun.Detached] for work that must not end with
// ctx. If work panics, nothing is kept, Do releases the lease, and the panic continues. If ctx ends during work and work
// still returns nil, the result is stored: Do waits for up to 10 s for the server's answer.
//
// An error with ran means that work has run:
//
//   - the error of work, in a [*ReleaseError] if the release failed, too: nothing is kept;
//   - [ErrNotKept], together with the result, which the server does not keep. No caller runs work again until Keep has
//     passed, or Forget;
//   - [ErrLost]: the lease was lost, and nothing of this run is kept. If Do learns that another run has stored its result
//     meanwhile, it returns that result, without an error;
//   - [ErrIndeterminate]: the server has not answered whether the result is stored;
//   - any other error of the store, such as [ErrUnavailable]: the result is not stored.
//
// An error without ran means that this call has not run work:
//
//   - the error of work in another call of this process, for which this one waited;
//   - [ErrNotKept]: work has run, and its result was not kept;
//   - [ErrOtherFingerprint]: key is in use with another fingerprint;
//   - [ErrUndecodable]: the kept result is no T;
//   - [ErrSelfDeadlock]: ctx is of a run for the same key;
//   - others as for [Lock.Lock].
//
// With an error the result is the zero value, but for ErrNotKept with ran.
func (m *Memo[T]) Do(
	ctx context.Context, key string, work func(ctx context.Context, run MemoRun) (T, error),
) (result T, ran bool, err error) {
	return m.do(ctx, key, work, (*memoRun).share)
}

// TryDo is Do without waiting: while another caller runs work for key, it returns [ErrNotAcquired]. Each call asks the
// server for itself.
func (m *Memo[T]) TryDo(
	ctx context.Context, key string, work func(ctx context.Context, run MemoRun) (T, error),
) (result T, ran bool, err error) {
	return m.do(ctx, key, work, (*memoRun).try)
}

// do is Do with the given way to get an answer.
func (m *Memo[T]) do(
	ctx context.Context, key string, work func(ctx context.Context, run MemoRun) (T, error),
	ask func(*memoRun, context.Context) memoAnswer,
) (result T, ran bool, err error) {
	k := m.key(key)
	if err := k.check(ctx); err != nil {
		return result, false, err
	}
	var own T
	r := &memoRun{key: k, work: func(ctx context.Context, run MemoRun) (made memoAnswer, err error) {
		if own, err = work(ctx, run); err == nil {
			made = k.encode(own)
		}
		return made, err
	}}
	switch answer := ask(r, ctx); {
	case answer.own:
		return own, true, answer.err
	case answer.err != nil:
		return result, r.lease != nil, answer.err
	default:
		result, err = decoded[T](k, answer.encoded)
		return result, r.lease != nil, err
	}
}

// encode encodes the result of work.
func (k *memoKey) encode(result any) memoAnswer {
	encoded, err := k.memo.opts.Marshal(result)
	if most := k.memo.opts.MaxBytes; err == nil && len(encoded) > most {
		err = fmt.Errorf("%d bytes are more than %d", len(encoded), most)
	}
	if err != nil {
		return memoAnswer{own: true, err: k.described("keep the result of", fmt.Errorf("%w: %w", ErrNotKept, err))}
	}
	return memoAnswer{own: true, encoded: string(encoded)}
}

// decoded returns the result of k that is kept.
func decoded[T any](k *memoKey, encoded string) (result T, err error) {
	if err := k.memo.opts.Unmarshal([]byte(encoded), &result); err != nil {
		var none T
		return none, k.described("decode the result of", fmt.Errorf("%w: %w", ErrUndecodable, err))
	}
	return result, nil
}

// Forget deletes the result that is kept for key, so the next caller runs work again, and reports whether there was one. A
// run that is under way stores its result. Forget takes one round trip. Errors are the same as for [AtomicLong.Load].
func (m *Memo[T]) Forget(ctx context.Context, key string) (bool, error) {
	k := m.key(key)
	return extend.Call(ctx, &k.record, k.invalid, "forget the result of", func() (bool, error) {
		return script.ObjectDelete(ctx, k.record.Runner(), k.record.Key(), nil, "hash")
	})
}

// Detached returns a context for the rest of work that must not end with the context of Do: for example, to write down
// an answer after the request was cancelled. It ends after d, or when the lease ends, and has the values of work's
// context. Call cancel when the work is done.
func (r MemoRun) Detached(d time.Duration) (ctx context.Context, cancel context.CancelFunc) {
	return context.WithTimeout(r.Lease.Context(context.WithoutCancel(r.now.ctx)), d)
}

// KeepNothing says before the end of work that its result will not be kept: for example, because a part of it has gone
// out already. From then on callers for the key get [ErrNotKept], also after a crash of this process, until Keep has
// passed, or Forget. Work goes on under its lease, and Do returns its result together with ErrNotKept. KeepNothing takes
// one round trip. It waits for up to 10 s, even if ctx has ended, and its errors are those of the store: see [Memo.Do].
func (r MemoRun) KeepNothing(ctx context.Context) error {
	k, err := r.now.key, r.Lease.Err()
	if err == nil {
		var result script.MemoStoreResult
		result, err = k.store(ctx, r.Lease, memoAnswer{err: ErrNotKept}, false)
		if err != nil || result.Stored {
			r.now.nothing.Store(err == nil || r.now.nothing.Load())
			return err
		}
		err = ErrLost
	}
	return k.described("store the result of", err)
}

// memo is a Memo of any type.
type memo struct {
	object // whose name has a colon behind it, as all keys have
	name   string
	client *Client
	opts   MemoOptions
	call   MemoCall
}

// newMemo returns the memo called name.
func (c *Client) newMemo(name string, opts *MemoOptions) memo {
	m := memo{object: c.newObject(memoKind, name, "hash"), name: name, client: c, opts: *opts}
	m.base = c.core.NewObject(memoKind, name+":", "hash").WithRights(rights[memoKind])
	m.opts.Keep = cmp.Or(opts.Keep, 24*time.Hour)
	m.opts.MaxBytes = cmp.Or(opts.MaxBytes, 1<<20)
	if opts.Marshal == nil && opts.Unmarshal == nil {
		m.opts.Marshal, m.opts.Unmarshal = json.Marshal, json.Unmarshal
	}
	if m.opts.Marshal == nil || m.opts.Unmarshal == nil {
		m.reject(&FieldError{Field: "Marshal", Problem: "set both Marshal and Unmarshal, or none"})
	}
	m.reject(extend.AtLeast("Keep", m.opts.Keep, time.Millisecond))
	m.reject(within("MaxBytes", m.opts.MaxBytes, 1, math.MaxInt))
	return m
}

// Name returns the memo's name, without the client's prefix.
func (m *memo) Name() string { return m.name }
