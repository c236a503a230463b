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
	// is any text. The client of the service may choose it. Nil means that all requests have the same key.
	Key func(r *http.Request) string

	// Unavailable says what happens to requests while the server of the limiters is away. With
	// [primitives.Refuse] they get status 503, and Retry-After 1. With [primitives.Admit] they are served. With
	// [primitives.LocalShare] this process limits them by itself. It has no default.
	Unavailable primitives.Fallback

	// Timeout is how long a request waits for the server's answer. Zero means 1 s.
	Timeout time.Duration

	// OnError receives the error of each request about which nothing was decided: the server is away and
	// Unavailable is Refuse, or the limiter's key has data of another program, for example. It may be called by
	// many goroutines at once. Nil ignores these errors.
	OnError func(r *http.Request, err error)

	_ struct{}
}

// Limit limits requests. It is safe for concurrent use, and needs no closing.
type Limit struct {
	client  *primitives.Client
	name    string
	limiter primitives.RateLimiterOptions
	opts    Options
	field   string // the name, as an item of a structured field
	policy  string // the value of RateLimit-Policy
	problem []byte // the body of a refusal
}

// New returns a limit called name: rate for each key. It sends nothing. The limiters of the keys are called
// name, or name:key with a Key, in which other characters than letters, digits and -_.~ are escaped, and long keys
// are hashed. The name is also the policy's name in the header fields, so it has only printable ASCII characters.
// All processes that share a limit set the same name and rate.
//
// A limiter that exists keeps its rate until it expires. So a deployment with another rate uses another name.
//
// A limiter that is not used expires after the rate's KeepAlive, by default an hour, or the interval if that is longer.
// If clients can make up keys, set it to the interval, so unused keys are soon forgotten.
//
// New returns a [*primitives.FieldError] if Unavailable is not set, or if another argument or option is invalid.
func New(client *primitives.Client, name string, rate primitives.Rate, opts *Options) (*Limit, error) {
	l := &Limit{client: client, name: name}
	if opts != nil {
		l.opts = *opts
	}
	l.limiter = primitives.RateLimiterOptions{Rate: rate, Unavailable: l.opts.Unavailable, Timeout: l.opts.Timeout}
	if err := l.validate(); err != nil {
		return nil, err
	}
	l.field = stringItem(name)
	l.policy = l.field + policyParameters(rate)
	l.problem = quotaExceeded(name)
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
	case l.limiter.Rate == primitives.Rate{}:
		return &primitives.FieldError{Field: "Rate", Problem: "must be set"}
	}
	return l.validateLimiter()
}

// validateLimiter returns the error of the limiter's name or rate. Under a context that has ended a limiter
// looks at its arguments, and sends nothing.
func (l *Limit) validateLimiter() error {
	ended, end := context.WithCancel(context.Background())
	end()
	var invalid *primitives.FieldError
	err := l.client.NewRateLimiter(l.limiterName(""), &l.limiter).TryAcquire(ended, 1)
	if errors.As(err, &invalid) {
		return invalid
	}
	return nil
}

// Handler returns a handler that calls next for the requests that the limit admits.
func (l *Limit) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("RateLimit-Policy", l.policy)
		state, err := l.acquire(r)
		var refused *primitives.RateLimitError
		switch {
		case err == nil && state.Local:
			next.ServeHTTP(w, r)
		case err == nil:
			w.Header().Add("RateLimit", l.field+stateParameters(state))
			next.ServeHTTP(w, r)
		case errors.As(err, &refused):
			l.refuse(w, refused.RetryIn)
		case r.Context().Err() != nil:
			unavailable(w) // Nobody waits for the response.
		default:
			l.fallBack(w, r, next, err)
		}
	})
}

// acquire takes a permit for a request.
func (l *Limit) acquire(r *http.Request) (primitives.RateState, error) {
	key := ""
	if l.opts.Key != nil {
		key = l.opts.Key(r)
	}
	return l.client.NewRateLimiter(l.limiterName(key), &l.limiter).TryAcquireState(r.Context(), 1)
}

// fallBack answers a request about which neither the server nor the limiter's Fallback has decided.
func (l *Limit) fallBack(w http.ResponseWriter, r *http.Request, next http.Handler, err error) {
	if l.opts.OnError != nil {
		l.opts.OnError(r, err)
	}
	if l.opts.Unavailable == primitives.Admit {
		next.ServeHTTP(w, r)
		return
	}
	unavailable(w)
}
