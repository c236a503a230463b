package grpclimit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/hasp-go/hasp/integration/internal/limited"
	"github.com/hasp-go/hasp/primitives"
)

// Options configure a [Limit]. Unavailable must be set. The zero value of each other field means its default. The
// functions may be called by many goroutines at once. A method is a full one, such as /package.Service/Method.
type Options struct {
	// Key returns the key of a call: calls with the same key share the permits of one throttle. A key is any
	// text. The client of the service may choose it. Nil means that all calls have the same key.
	Key func(ctx context.Context, method string) string

	// Cost returns how many permits a call takes. A call that costs less than 1 is served, and takes none. Nil means
	// that each call takes one permit.
	Cost func(ctx context.Context, method string) int

	// Unavailable says what happens to calls while the server of the limiters is away. With [primitives.Refuse]
	// they end with the code Unavailable. With [primitives.Admit] they are served. With a
	// [primitives.LocalShare] this process limits them by itself. It has no default.
	Unavailable primitives.Fallback

	// Timeout is how long a call waits for the server's answer. Zero means 1 s.
	Timeout time.Duration

	// OnError receives the error of each call about which nothing was decided: the server is away and
	// Unavailable is Refuse, the call costs more than the burst, or the throttle's key has data of another program, for
	// example. Nil ignores these errors.
	OnError func(ctx context.Context, method string, err error)

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
	// Name names the policy in statuses and metrics, and begins the names of its throttles: see [NewThrottle].
	Name string

	Limit primitives.Limit

	// Key and Cost are as in [Options]. Nil means those of the options.
	Key  func(ctx context.Context, method string) string
	Cost func(ctx context.Context, method string) int

	_ struct{}
}

// Limit limits calls. It is safe for concurrent use, and needs no closing.
type Limit struct {
	client   *primitives.Client
	policies []Policy
	names    string // of all policies
	opts     MultiThrottleOptions
}

// NewThrottle returns a limit called name: limit for each key. It sends nothing. The throttles of the keys are called name, or
// name:key with a Key, in which other characters than letters, digits and -_.~ are escaped, and long keys are hashed.
// All processes that share a limit set the same name and limit.
//
// NewThrottle returns a [*primitives.FieldError] if Unavailable is not set, or if another argument or option is invalid.
func NewThrottle(client *primitives.Client, name string, limit primitives.Limit, opts *Options) (*Limit, error) {
	all := &MultiThrottleOptions{Options: *cmp.Or(opts, new(Options))}
	return NewMultiThrottle(client, all, Policy{Name: name, Limit: limit})
}

// NewMultiThrottle is NewThrottle for several policies, such as one for a user and one for all, by a
// [primitives.MultiThrottle]: a call takes permits of all, or of none. A policy of which it costs less than 1 is left
// out. A refusal names the policy that refuses for the longest time. For a single policy it is NewThrottle with more
// options.
//
// In a cluster the throttles of a call must share a slot: give the names the same hash tag, such as {api}, or set Steps.
func NewMultiThrottle(client *primitives.Client, opts *MultiThrottleOptions, policies ...Policy) (*Limit, error) {
	l := &Limit{client: client, opts: *cmp.Or(opts, new(MultiThrottleOptions))}
	if len(policies) == 0 {
		return nil, &primitives.FieldError{Field: "policies", Problem: "none"}
	}
	names := make([]string, len(policies))
	for i, p := range policies {
		if p.Key == nil {
			p.Key = l.opts.Key
		}
		if p.Cost == nil {
			p.Cost = l.opts.Cost
		}
		names[i], l.policies = p.Name, append(l.policies, p)
	}
	l.names = strings.Join(names, ", ")
	for i := range l.policies {
		if err := l.validate(&l.policies[i]); err != nil {
			return nil, fmt.Errorf("policy %q: %w", l.policies[i].Name, err)
		}
	}
	return l, nil
}

func (l *Limit) validate(p *Policy) error {
	if p.Name == "" {
		return &primitives.FieldError{Field: "name", Problem: "must not be empty"}
	}
	for i := range l.policies {
		if q := &l.policies[i]; q != p && limited.Share(p.Name, p.Key != nil, q.Name, q.Key != nil) {
			return &primitives.FieldError{Field: "name", Problem: "is another policy's, or that of one of its keys"}
		}
	}
	return l.throttle(p, "").Validate()
}

// Unary is a [grpc.UnaryServerInterceptor].
func (l *Limit) Unary(
	ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
) (any, error) {
	if err := l.admit(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	return handler(ctx, req)
}

// Stream is a [grpc.StreamServerInterceptor].
func (l *Limit) Stream(
	srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler,
) error {
	if err := l.admit(stream.Context(), info.FullMethod); err != nil {
		return err
	}
	return handler(srv, stream)
}

func (l *Limit) throttle(p *Policy, key string) *primitives.Throttle {
	name := p.Name
	if p.Key != nil {
		name = limited.Name(name, key)
	}
	opts := primitives.ThrottleOptions{
		Unavailable: l.opts.Unavailable, Timeout: l.opts.Timeout, RefuseLocally: l.opts.RefuseLocally, Policy: p.Name,
	}
	return l.client.NewThrottle(name, p.Limit, &opts)
}

// part is what a call takes of one policy.
type part struct {
	policy   string
	throttle *primitives.Throttle
	n        int
}

func (l *Limit) parts(ctx context.Context, method string) (parts []part) {
	for i := range l.policies {
		p, key, cost := &l.policies[i], "", 1
		if p.Cost != nil {
			cost = p.Cost(ctx, method)
		}
		if cost < 1 {
			continue
		}
		if p.Key != nil {
			key = p.Key(ctx, method)
		}
		parts = append(parts, part{p.Name, l.throttle(p, key), cost})
	}
	return parts
}

// admit takes the permits of a call. Its error is the call's status.
func (l *Limit) admit(ctx context.Context, method string) error {
	parts := l.parts(ctx, method)
	if len(parts) == 0 {
		return nil
	}
	decision, err := l.take(ctx, parts)
	switch {
	case err != nil:
		return l.failed(ctx, method, err)
	case !decision.Allowed:
		by := slices.IndexFunc(parts, func(p part) bool { return p.throttle == decision.Throttle })
		return refusal(parts[by].policy, decision.RetryAfter)
	}
	return nil
}

func (l *Limit) take(ctx context.Context, parts []part) (primitives.MultiDecision, error) {
	if len(parts) == 1 {
		d, err := parts[0].throttle.Allow(ctx, parts[0].n)
		return primitives.MultiDecision{Decision: d, Throttle: parts[0].throttle}, err
	}
	takes := make([]primitives.Take, len(parts))
	for i, p := range parts {
		takes[i] = p.throttle.Take(p.n)
	}
	return primitives.NewMultiThrottle(&primitives.MultiThrottleOptions{Steps: l.opts.Steps}, takes...).Allow(ctx)
}

func refusal(policy string, retryAfter time.Duration) error {
	refused := status.New(codes.ResourceExhausted, fmt.Sprintf("limit %q: too few permits", policy))
	detailed, err := refused.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(retryAfter)})
	if err != nil {
		panic("grpclimit: " + err.Error()) // A RetryInfo can always be encoded.
	}
	return detailed.Err()
}

// failed returns the status of a call about which the server has not decided.
func (l *Limit) failed(ctx context.Context, method string, err error) error {
	if ended := ctx.Err(); ended != nil {
		return status.FromContextError(ended).Err()
	}
	if l.opts.OnError != nil {
		l.opts.OnError(ctx, method, err)
	}
	switch {
	case errors.Is(err, primitives.ErrAboveRate):
		return status.Errorf(codes.ResourceExhausted, "limit %q: the call costs more than the burst", l.names)
	case l.opts.Unavailable == primitives.Admit():
		return nil
	}
	return status.Errorf(codes.Unavailable, "limit %q: not decided", l.names)
}
