package grpclimit

import (
	"context"
	"errors"
	"fmt"
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

	// RefuseLocally says that this process repeats refusals, for a second at most:
	// [primitives.ThrottleOptions].RefuseLocally.
	RefuseLocally bool

	// OnError receives the error of each call about which nothing was decided: the server is away and
	// Unavailable is Refuse, the call costs more than the burst, or the throttle's key has data of another program, for example. Nil ignores these errors.
	OnError func(ctx context.Context, method string, err error)

	_ struct{}
}

// Limit limits calls. It is safe for concurrent use, and needs no closing.
type Limit struct {
	client *primitives.Client
	name   string
	limit  primitives.Limit
	opts   Options
}

// New returns a limit called name: limit for each key. It sends nothing. The throttles of the keys are called name, or
// name:key with a Key, in which other characters than letters, digits and -_.~ are escaped, and long keys are hashed.
// All processes that share a limit set the same name and limit.
//
// New returns a [*primitives.FieldError] if Unavailable is not set, or if another argument or option is invalid.
func New(client *primitives.Client, name string, limit primitives.Limit, opts *Options) (*Limit, error) {
	if name == "" {
		return nil, &primitives.FieldError{Field: "name", Problem: "must not be empty"}
	}
	l := &Limit{client: client, name: name, limit: limit}
	if opts != nil {
		l.opts = *opts
	}
	if err := l.validate(); err != nil {
		return nil, err
	}
	return l, nil
}

// validate returns the error of the throttle's limit or options. Under a context that has ended a throttle looks at its
// arguments, and sends nothing.
func (l *Limit) validate() error {
	ended, end := context.WithCancel(context.Background())
	end()
	var invalid *primitives.FieldError
	if _, err := l.throttle("").Allow(ended, 1); errors.As(err, &invalid) {
		return invalid
	}
	return nil
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

// throttle returns the throttle of a key.
func (l *Limit) throttle(key string) *primitives.Throttle {
	name := l.name
	if l.opts.Key != nil {
		name = limited.Name(name, key)
	}
	opts := primitives.ThrottleOptions{
		Unavailable: l.opts.Unavailable, Timeout: l.opts.Timeout, RefuseLocally: l.opts.RefuseLocally, Policy: l.name,
	}
	return l.client.NewThrottle(name, l.limit, &opts)
}

// admit takes the permits of a call. Its error is the call's status.
func (l *Limit) admit(ctx context.Context, method string) error {
	key, cost := "", 1
	if l.opts.Key != nil {
		key = l.opts.Key(ctx, method)
	}
	if l.opts.Cost != nil {
		cost = l.opts.Cost(ctx, method)
	}
	if cost < 1 {
		return nil
	}
	decision, err := l.throttle(key).Allow(ctx, cost)
	switch {
	case err != nil:
		return l.failed(ctx, method, err)
	case !decision.Allowed:
		return l.refusal(decision.RetryAfter)
	}
	return nil
}

// refusal returns the status of a call for which too few permits are free.
func (l *Limit) refusal(retryAfter time.Duration) error {
	refused := status.New(codes.ResourceExhausted, fmt.Sprintf("limit %q: too few permits", l.name))
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
		return status.Errorf(codes.ResourceExhausted, "limit %q: the call costs more than the burst", l.name)
	case l.opts.Unavailable == primitives.Admit:
		return nil
	}
	return status.Errorf(codes.Unavailable, "limit %q: not decided", l.name)
}
