package httplimit

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/hasp-go/hasp/integration/internal/limited"
	"github.com/hasp-go/hasp/integration/internal/problem"
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

	// OnRefused receives each request that is refused because too few permits are free, the name of the policy that
	// refuses it for the longest time, and that time. It may be called by many goroutines at once. Nil ignores them.
	OnRefused func(r *http.Request, policy string, retryIn time.Duration)

	// OnError receives the error of each request about which nothing was decided: the server is away and
	// Unavailable is Refuse, or the limiter's key has data of another program, for example. It may be called by
	// many goroutines at once. Nil ignores these errors.
	OnError func(r *http.Request, err error)

	_ struct{}
}

// MultiThrottleOptions configure [NewMultiThrottle]. The zero value of each field means its default.
type MultiThrottleOptions struct {
	Options

	// RefuseLocally says that this process repeats refusals, for a second at most: see [primitives.ThrottleOptions].
	RefuseLocally bool

	// Steps is for a cluster: see [primitives.MultiThrottleOptions].
	Steps bool

	_ struct{}
}

// Policy is one limit of [NewMultiThrottle]. Name and Limit must be set.
type Policy struct {
	// Name is the policy's name in the header fields, and begins the names of its throttles: see [NewRateLimiter].
	Name string

	Limit primitives.Limit

	// Key and Cost are as in [Options]. Nil means those of the options.
	Key  func(r *http.Request) string
	Cost func(r *http.Request) int

	_ struct{}
}

// Limit limits requests. It is safe for concurrent use, and needs no closing.
type Limit struct {
	policies []policy
	limiter  newLimiter
	opts     Options
	steps    bool
}

// newLimiter returns the limiter called name, of a policy's key.
type newLimiter func(opts *Options, p *policy, name string) limiter

// policy is a Policy, and its texts in the header fields.
type policy struct {
	Policy
	item  string // the name
	field string // the element of RateLimit-Policy
}

// NewRateLimiter returns a limit called name: rate for each key, by a [primitives.RateLimiter]. It sends nothing. The limiters of
// the keys are called name, or name:key with a Key, in which other characters than letters, digits and -_.~ are escaped,
// and long keys are hashed. The name is also the policy's name in the header fields, so it has only printable ASCII
// characters. All processes that share a limit set the same name and rate.
//
// A limiter that exists keeps its rate until it expires. So a deployment with another rate uses another name.
//
// A limiter that is not used expires after the rate's KeepAlive, by default an hour, or the interval if that is longer.
// If clients can make up keys, set it to the interval, so unused keys are soon forgotten.
//
// NewRateLimiter returns a [*primitives.FieldError] if Unavailable is not set, or if another argument or option is invalid.
func NewRateLimiter(client *primitives.Client, name string, rate primitives.Rate, opts *Options) (*Limit, error) {
	if rate == (primitives.Rate{}) {
		return nil, &primitives.FieldError{Field: "Rate", Problem: "must be set"}
	}
	limit := primitives.Limit{Permits: rate.Permits, Interval: rate.Interval}
	return newLimit(opts, []Policy{{Name: name, Limit: limit}}, func(opts *Options, p *policy, name string) limiter {
		return client.NewRateLimiter(name, rate, &primitives.RateLimiterOptions{
			Unavailable: opts.Unavailable, Timeout: opts.Timeout, Policy: p.Name,
		})
	})
}

// NewThrottle is NewRateLimiter for a rate with a burst, by a [primitives.Throttle]: it needs less memory on the server,
// and what is not used expires by itself. The header fields have the rate, and as free permits up to the burst. A
// deployment may have another limit with the same name.
func NewThrottle(client *primitives.Client, name string, limit primitives.Limit, opts *Options) (*Limit, error) {
	return newThrottle(client, opts, false, Policy{Name: name, Limit: limit})
}

// NewMultiThrottle is NewThrottle for several policies, such as one for a user and one for all, by a
// [primitives.MultiThrottle]: a request takes permits of all, or of none. A policy of which it costs less than 1 is left
// out. For a single policy it is NewThrottle with more options.
//
// In a cluster the throttles of a request must share a slot: give the names the same hash tag, such as {api}, or set
// Steps.
func NewMultiThrottle(client *primitives.Client, opts *MultiThrottleOptions, policies ...Policy) (*Limit, error) {
	opts = cmp.Or(opts, new(MultiThrottleOptions))
	l, err := newThrottle(client, &opts.Options, opts.RefuseLocally, policies...)
	if err == nil {
		l.steps = opts.Steps
	}
	return l, err
}

func newThrottle(client *primitives.Client, opts *Options, locally bool, policies ...Policy) (*Limit, error) {
	return newLimit(opts, policies, func(opts *Options, p *policy, name string) limiter {
		return client.NewThrottle(name, p.Limit, &primitives.ThrottleOptions{
			Unavailable: opts.Unavailable, Timeout: opts.Timeout, RefuseLocally: locally, Policy: p.Name,
		})
	})
}

func newLimit(opts *Options, policies []Policy, by newLimiter) (*Limit, error) {
	l := &Limit{limiter: by, opts: *cmp.Or(opts, new(Options))}
	for _, p := range policies {
		if p.Key == nil {
			p.Key = l.opts.Key
		}
		if p.Cost == nil {
			p.Cost = l.opts.Cost
		}
		p.Limit.Burst = cmp.Or(p.Limit.Burst, p.Limit.Permits)
		item := stringItem(p.Name)
		l.policies = append(l.policies, policy{p, item, item + policyParameters(p.Limit)})
	}
	if err := l.validate(); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *Limit) validate() error {
	if len(l.policies) == 0 {
		return &primitives.FieldError{Field: "policies", Problem: "none"}
	}
	for i := range l.policies {
		if err := l.validatePolicy(&l.policies[i]); err != nil {
			return fmt.Errorf("policy %q: %w", l.policies[i].Name, err)
		}
	}
	return nil
}

func (l *Limit) validatePolicy(p *policy) error {
	switch {
	case p.Name == "":
		return &primitives.FieldError{Field: "name", Problem: "must not be empty"}
	case !printable(p.Name):
		return &primitives.FieldError{Field: "name", Problem: "must have printable ASCII characters only"}
	case l.shares(p):
		return &primitives.FieldError{Field: "name", Problem: "is another policy's, or that of one of its keys"}
	}
	return l.limiter(&l.opts, p, p.limiterName("")).Validate()
}

// shares reports whether a limiter of p may have the name of another policy's.
func (l *Limit) shares(p *policy) bool {
	for i := range l.policies {
		q := &l.policies[i]
		if q != p && limited.Share(p.Name, p.Key != nil, q.Name, q.Key != nil) {
			return true
		}
	}
	return false
}

// Handler returns a handler that calls next for the requests that the limit admits.
func (l *Limit) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parts, err := l.ask(r)
		if l.opts.Shadow || l.admit(w, r, parts, err) {
			next.ServeHTTP(w, r)
		}
	})
}

// ask takes the permits of a request, and reports a refusal or an error.
func (l *Limit) ask(r *http.Request) ([]part, error) {
	parts := l.parts(r)
	if len(parts) == 0 {
		return nil, nil
	}
	err := l.take(r.Context(), parts)
	if err != nil {
		if r.Context().Err() == nil && l.opts.OnError != nil {
			l.opts.OnError(r, err)
		}
		return parts, err
	}
	if longest := violated(parts); len(longest) > 0 && l.opts.OnRefused != nil {
		l.opts.OnRefused(r, longest[0].policy.Name, longest[0].decision.RetryAfter)
	}
	return parts, nil
}

func (l *Limit) parts(r *http.Request) []part {
	parts := make([]part, 0, len(l.policies))
	for i := range l.policies {
		p, key, cost := &l.policies[i], "", 1
		if p.Cost != nil {
			cost = p.Cost(r)
		}
		if cost < 1 {
			continue
		}
		if p.Key != nil {
			key = p.Key(r)
		}
		parts = append(parts, part{policy: p, limiter: l.limiter(&l.opts, p, p.limiterName(key)), n: cost})
	}
	return parts
}

// admit reports whether a request is served. Otherwise it writes the response.
func (l *Limit) admit(w http.ResponseWriter, r *http.Request, parts []part, err error) bool {
	addFields(w.Header(), l.policies, parts)
	if refused := violated(parts); len(refused) > 0 {
		// The draft wants Retry-After not to be earlier than the end of the window t.
		quotaExceeded(refused).Write(w, seconds(refused[0].decision.RetryAfter))
		return false
	}
	return err == nil || l.fallBack(w, r)
}

// fallBack admits or answers a request about which neither the server nor the limiter's Fallback has decided.
func (l *Limit) fallBack(w http.ResponseWriter, r *http.Request) bool {
	waiting := r.Context().Err() == nil // Otherwise nobody waits for the response.
	if l.opts.Unavailable == primitives.Admit() && waiting {
		return true
	}
	problem.Of(http.StatusServiceUnavailable, "").Write(w, 1)
	return false
}
