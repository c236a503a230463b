package httpidem

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/hasp-go/hasp/integration/internal/problem"
	"github.com/hasp-go/hasp/primitives"
)

// Options configure a [Middleware]. Tenant must be set. The zero value of each other field means its default. All
// processes must set the same.
type Options struct {
	// Tenant names the caller of a request, as its authentication does: requests of two callers never meet, even if their
	// keys are the same. A service with one caller returns a constant. "" says that nobody is known: a request with a key
	// then gets status 403.
	Tenant func(r *http.Request) string

	// Required says of a request without a key whether it gets status 400. Nil means that none does.
	Required func(r *http.Request) bool

	// Keep reports whether an answer with a status is kept. If it is not, the next request with the key runs.
	// Nil means all but 5xx and 429. Authentication belongs outside of the middleware: otherwise its 401 is kept.
	Keep func(status int) bool

	// TTL is how long an answer is kept, in whole milliseconds. Zero means 24 h.
	TTL time.Duration

	// Headers names header fields of answers that are kept, besides Content-Type and the other fields that describe the
	// body, Location, Link, ETag, Last-Modified and Cache-Control. Set-Cookie is never kept.
	Headers []string

	// MaxRequest is the size of the largest body of a request with a key, in bytes. Zero means 1 MiB.
	MaxRequest int

	// MaxResponse is the size of the largest body of an answer that is kept, in bytes. Zero means 1 MiB.
	MaxResponse int

	// Wait is how long a request waits for another one with its key that runs. Zero means that it gets 409 at once.
	Wait time.Duration

	// Timeout is how long a request waits for the server's answer before the handler runs. Zero means 1 s.
	Timeout time.Duration

	// Grace is how long a handler may go on after its client has gone. Zero means 30 s.
	Grace time.Duration

	// RunUnavailable says that requests run while the server of the keys is away: then one that comes twice runs twice.
	// Otherwise they get status 503, and Retry-After 1.
	RunUnavailable bool

	// OnError receives the error of each request about which nothing was decided, such as [primitives.ErrUnavailable], and
	// of each that has run, and whose answer could not be kept: [primitives.ErrNotKept] if it was too large. It may be
	// called by many goroutines at once. Nil ignores these errors.
	OnError func(r *http.Request, err error)

	_ struct{}
}

// Middleware runs requests with an Idempotency-Key once. It is safe for concurrent use, and needs no closing.
type Middleware struct {
	memo *primitives.Memo[answer]
	opts Options
}

// New returns the middleware called name, whose answers are the results of a [primitives.Memo] of that name. It sends
// nothing. All processes, and all handlers that share keys, use the same name. New returns a [*primitives.FieldError] if
// Tenant is not set, or if name or another option is invalid.
func New(client *primitives.Client, name string, opts *Options) (*Middleware, error) {
	m := &Middleware{opts: *cmp.Or(opts, new(Options))}
	o := &m.opts
	o.MaxRequest, o.MaxResponse = cmp.Or(o.MaxRequest, 1<<20), cmp.Or(o.MaxResponse, 1<<20)
	o.Timeout, o.Grace = cmp.Or(o.Timeout, time.Second), cmp.Or(o.Grace, 30*time.Second)
	if o.Keep == nil {
		o.Keep = func(status int) bool { return status < 500 && status != http.StatusTooManyRequests }
	}
	o.Headers = fields(o.Headers)
	m.memo = primitives.NewMemo[answer](client, name, &primitives.MemoOptions{
		Keep: o.TTL, MaxBytes: o.MaxResponse + maxFields, Marshal: marshal, Unmarshal: unmarshal,
	})
	if err := m.validate(); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *Middleware) validate() error {
	o := &m.opts
	switch {
	case o.Tenant == nil:
		return &primitives.FieldError{Field: "Tenant", Problem: "must be set"}
	case slices.Contains(o.Headers, "Set-Cookie"):
		return &primitives.FieldError{Field: "Headers", Problem: "must not have Set-Cookie"}
	case o.TTL%time.Millisecond != 0:
		return &primitives.FieldError{Field: "TTL", Problem: "is no whole number of milliseconds"}
	}
	for _, bound := range []struct {
		field string
		value int64
	}{
		{"TTL", int64(o.TTL)}, {"MaxRequest", int64(o.MaxRequest)}, {"MaxResponse", int64(o.MaxResponse)},
		{"Wait", int64(o.Wait)}, {"Timeout", int64(o.Timeout)}, {"Grace", int64(o.Grace)},
	} {
		if bound.value < 0 {
			return &primitives.FieldError{Field: bound.field, Problem: "is negative"}
		}
	}
	return m.memo.Validate()
}

// Handler returns a handler that calls next for each request without a key, and once for the requests with one.
func (m *Middleware) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, refused := m.key(r)
		if refused == nil && key == "" {
			next.ServeHTTP(w, r)
			return
		}
		fingerprint := ""
		if refused == nil {
			r, fingerprint, refused = m.read(w, r)
		}
		if refused != nil {
			refused.Write(w, 0)
			return
		}
		m.once(w, r, m.memo.With(&primitives.MemoCall{Fingerprint: fingerprint}), key, next)
	})
}

// once runs a request unless there is an answer for its key, and answers it.
func (m *Middleware) once(
	w http.ResponseWriter, r *http.Request, memo *primitives.Memo[answer], key string, next http.Handler,
) {
	rec := &recorder{w: w, opts: &m.opts, header: w.Header().Clone()}
	a, ran, err := m.ask(r.Context(), memo, key, func(ctx context.Context, run primitives.MemoRun) (answer, error) {
		ctx, end := m.lasting(ctx, run)
		defer end()
		rec.keepNothing = func() error { return run.KeepNothing(ctx) }
		next.ServeHTTP(rec, r.WithContext(ctx))
		return rec.answer()
	})
	switch {
	case ran && (err != nil || a.of == rec):
		m.reportRun(r, err)
		rec.send()
	case err == nil: // also of another run, which has stored its answer after this one had lost its lease
		a.replay(w)
	default:
		m.refuse(w, r, next, err)
	}
}

// errNoAnswer ends a wait for the server, and for another request.
var errNoAnswer = errors.New("httpidem: no answer in time")

type (
	work = func(ctx context.Context, run primitives.MemoRun) (answer, error)
	do   = func(ctx context.Context, key string, work work) (answer, bool, error)
)

// ask asks the server at once, and then waits for another request with the key, if that runs.
func (m *Middleware) ask(ctx context.Context, memo *primitives.Memo[answer], key string, work work) (answer, bool, error) {
	a, ran, err := within(ctx, m.opts.Timeout, memo.TryDo, key, work)
	if m.opts.Wait == 0 || !errors.Is(err, primitives.ErrNotAcquired) {
		return a, ran, err
	}
	a, ran, err = within(ctx, m.opts.Wait, memo.Do, key, work)
	if !ran && errors.Is(err, errNoAnswer) {
		err = primitives.ErrNotAcquired
	}
	return a, ran, err
}

// within calls do, whose context ends after d unless work has begun by then.
func within(ctx context.Context, d time.Duration, do do, key string, work work) (a answer, ran bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(d, func() { cancel(errNoAnswer) })
	defer timer.Stop()
	a, ran, err = do(ctx, key, func(ctx context.Context, run primitives.MemoRun) (answer, error) {
		timer.Stop()
		return work(ctx, run)
	})
	if err != nil && !ran && context.Cause(ctx) == errNoAnswer { //nolint:errorlint // It is compared as it is.
		err = fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	return a, ran, err
}

// lasting returns the context of the handler, and ends it. It ends with the lease, and a while after ctx: an answer that
// the handler still gives is for the client's next request.
func (m *Middleware) lasting(ctx context.Context, run primitives.MemoRun) (context.Context, func()) {
	own, cancel := context.WithCancelCause(run.Lease.Context(context.WithoutCancel(ctx)))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-own.Done():
		case <-time.After(m.opts.Grace):
			cancel(context.Cause(ctx))
		}
	})
	return own, func() {
		stop()
		cancel(nil)
	}
}

// refuse answers a request that has not run, and for which there is no answer.
func (m *Middleware) refuse(w http.ResponseWriter, r *http.Request, next http.Handler, err error) {
	var other *unkeptError
	switch {
	case errors.As(err, &other) && other.answer != nil: // this one has waited for it
		other.answer.replay(w)
	case errors.Is(err, primitives.ErrNotAcquired), other != nil:
		problem.Of(http.StatusConflict, "A request with this Idempotency-Key is running.").Write(w, 1)
	case errors.Is(err, primitives.ErrOtherFingerprint):
		problem.Of(http.StatusUnprocessableEntity, "Another request has used this Idempotency-Key.").Write(w, 0)
	case errors.Is(err, primitives.ErrNotKept):
		const detail = "The request with this Idempotency-Key has run. Its answer was too large to be kept."
		problem.Of(http.StatusConflict, detail).Write(w, 0)
	default:
		m.fallBack(w, r, next, err)
	}
}

// fallBack runs or refuses a request about which nothing was decided.
func (m *Middleware) fallBack(w http.ResponseWriter, r *http.Request, next http.Handler, err error) {
	waiting := r.Context().Err() == nil // Otherwise nobody waits for the answer.
	if waiting {
		m.report(r, err)
	}
	if waiting && m.opts.RunUnavailable && !errors.Is(err, primitives.ErrUndecodable) {
		next.ServeHTTP(w, r)
		return
	}
	problem.Of(http.StatusServiceUnavailable, "").Write(w, 1)
}

// reportRun reports the error of a request that has run, unless its answer was not to be kept.
func (m *Middleware) reportRun(r *http.Request, err error) {
	var unkept *unkeptError
	var release *primitives.ReleaseError
	if err != nil && (!errors.As(err, &unkept) || errors.As(err, &release)) {
		m.report(r, err)
	}
}

func (m *Middleware) report(r *http.Request, err error) {
	if m.opts.OnError != nil {
		m.opts.OnError(r, err)
	}
}
