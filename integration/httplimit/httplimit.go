package httplimit

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// Options configure a [Limit]. Unavailable must be set. The zero value of each other field means its default.
type Options struct {
	// Key returns the key of a request: requests with the same key share the permits of one limiter. A key
	// is any text. The client of the service may choose it. Within an [http.ServeMux], the field Pattern of the
	// request names the route. Nil means that all requests have the same key.
	Key func(r *http.Request) string

	// Cost returns how many permits a request takes. A request that costs less than 1 is served, and takes none. One
	// that costs more than the limit ever has is refused without Retry-After, and OnError receives its error. Nil
	// means that each request takes one permit.
	Cost func(r *http.Request) int

	// Shadow says that the limit counts requests, and refuses none: to learn what it would do. All requests are
	// served, without the limit's header fields. OnRefused and OnError are called as without Shadow.
	Shadow bool

	// Unavailable says what happens to requests while the server of the limiters is away. With
	// [primitives.Refuse] they get status 503, and Retry-After 1. With [primitives.Admit] they are served. With
	// [primitives.LocalShare] this process limits them by itself. It has no default.
	Unavailable primitives.Fallback

	// Timeout is how long a request waits for the server's answer. Zero means 1 s.
	Timeout time.Duration

	// OnRefused receives each request that is refused because too few permits are free, and the time until enough
	// are. It may be called by many goroutines at once. Nil ignores them.
	OnRefused func(r *http.Request, retryIn time.Duration)

	// OnError receives the error of each request about which nothing was decided: the server is away and
	// Unavailable is Refuse, or the limiter's key has data of another program, for example. It may be called by
	// many goroutines at once. Nil ignores these errors.
	OnError func(r *http.Request, err error)

	_ struct{}
}

// Limit limits requests. It is safe for concurrent use, and needs no closing.
type Limit struct {
	name    string
	take    take
	opts    Options
	field   string // the name, as an item of a structured field
	policy  string // the value of RateLimit-Policy
	problem []byte // the body of a refusal
}

// New returns a limit called name: rate for each key, by a [primitives.RateLimiter]. It sends nothing. The limiters of
// the keys are called name, or name:key with a Key, in which other characters than letters, digits and -_.~ are escaped,
// and long keys are hashed. The name is also the policy's name in the header fields, so it has only printable ASCII
// characters. All processes that share a limit set the same name and rate.
//
// A limiter that exists keeps its rate until it expires. So a deployment with another rate uses another name.
//
// A limiter that is not used expires after the rate's KeepAlive, by default an hour, or the interval if that is longer.
// If clients can make up keys, set it to the interval, so unused keys are soon forgotten.
//
// New returns a [*primitives.FieldError] if Unavailable is not set, or if another argument or option is invalid.
func New(client *primitives.Client, name string, rate primitives.Rate, opts *Options) (*Limit, error) {
	if rate == (primitives.Rate{}) {
		return nil, &primitives.FieldError{Field: "Rate", Problem: "must be set"}
	}
	return newLimit(name, opts, policyParameters(rate.Permits, rate.Interval), func(opts *Options) take {
		return rateTake(client, rate, opts)
	})
}

// NewThrottle is New for a rate with a burst, by a [primitives.Throttle]: it needs less memory on the server, and what is
// not used expires by itself. The header fields have the rate, and as free permits up to the burst. A deployment may have
// another limit with the same name.
func NewThrottle(client *primitives.Client, name string, limit primitives.Limit, opts *Options) (*Limit, error) {
	return newLimit(name, opts, policyParameters(limit.Permits, limit.Interval), func(opts *Options) take {
		return throttleTake(client, limit, opts)
	})
}

func newLimit(name string, opts *Options, parameters string, by func(*Options) take) (*Limit, error) {
	l := &Limit{name: name, field: stringItem(name), problem: quotaExceeded(name)}
	if opts != nil {
		l.opts = *opts
	}
	l.policy = l.field + parameters
	l.take = by(&l.opts)
	if err := l.validate(); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *Limit) validate() error {
	switch {
	case l.opts.Unavailable == 0:
		return &primitives.FieldError{Field: "Unavailable", Problem: "must be set: Refuse, Admit or a LocalShare"}
	case l.name == "":
		return &primitives.FieldError{Field: "name", Problem: "must not be empty"}
	case !printable(l.name):
		return &primitives.FieldError{Field: "name", Problem: "must have printable ASCII characters only"}
	}
	return l.validateLimiter()
}

// validateLimiter returns the error of the limiter's name or rate. Under a context that has ended a limiter
// looks at its arguments, and sends nothing.
func (l *Limit) validateLimiter() error {
	ended, end := context.WithCancel(context.Background())
	end()
	var invalid *primitives.FieldError
	if _, err := l.take(ended, l.limiterName(""), 1); errors.As(err, &invalid) {
		return invalid
	}
	return nil
}

// Handler returns a handler that calls next for the requests that the limit admits.
func (l *Limit) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, err := l.ask(r)
		if l.opts.Shadow || l.admit(w, r, got, err) {
			next.ServeHTTP(w, r)
		}
	})
}

// ask takes the permits of a request, and reports a refusal or an error.
func (l *Limit) ask(r *http.Request) (answer, error) {
	key, cost := "", 1
	if l.opts.Key != nil {
		key = l.opts.Key(r)
	}
	if l.opts.Cost != nil {
		cost = l.opts.Cost(r)
	}
	if cost < 1 {
		return answer{local: true}, nil
	}
	got, err := l.take(r.Context(), l.limiterName(key), cost)
	switch {
	case got.refused && l.opts.OnRefused != nil:
		l.opts.OnRefused(r, got.retryIn)
	case err != nil && r.Context().Err() == nil && l.opts.OnError != nil:
		l.opts.OnError(r, err)
	}
	return got, err
}

// admit reports whether a request is served. Otherwise it writes the response.
func (l *Limit) admit(w http.ResponseWriter, r *http.Request, got answer, err error) bool {
	w.Header().Add("RateLimit-Policy", l.policy)
	if err == nil && (got.refused || !got.local) {
		w.Header().Add("RateLimit", l.field+stateParameters(got))
	}
	switch {
	case got.refused:
		// The draft wants Retry-After not to be earlier than the end of the window t.
		write(w, http.StatusTooManyRequests, seconds(got.retryIn), l.problem)
		return false
	case errors.Is(err, primitives.ErrAboveRate):
		write(w, http.StatusTooManyRequests, 0, l.problem)
		return false
	case err != nil:
		return l.fallBack(w, r)
	}
	return true
}

// fallBack admits or answers a request about which neither the server nor the limiter's Fallback has decided.
func (l *Limit) fallBack(w http.ResponseWriter, r *http.Request) bool {
	waiting := r.Context().Err() == nil // Otherwise nobody waits for the response.
	if l.opts.Unavailable == primitives.Admit && waiting {
		return true
	}
	write(w, http.StatusServiceUnavailable, 1, unavailableBody)
	return false
}
