package primitives

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/limits"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// MultiThrottle takes permits of several throttles as one: of all of them, or of none. An example is a limit for a user,
// one for the user's tenant and one for all tenants. It takes one round trip, and a refusal takes nothing from any.
//
// Callers may also take permits of a single [Throttle] of them, and MultiThrottles may overlap. A MultiThrottle has no
// key of its own, and needs the permissions of its throttles.
//
// In a cluster the throttles' keys must share a slot. Give the names the same hash tag, such as {shop}, or set
// [MultiThrottleOptions].Steps.
//
// After an error no permit is taken, with one exception: after [ErrIndeterminate] the permits of all throttles may be in
// use. No request is sent twice. While the server is away, the throttles' [ThrottleOptions] decide, which must be the same
// but for Policy. A [LocalShare] takes permits of all or of none, too.
//
// A MultiThrottle is safe for concurrent use.
//
// Source: Redisson has none. It computes as a [Throttle] does.
type MultiThrottle struct {
	takes []Take
	steps []throttleStep
	base  extend.Object
	want  extend.WaitSpec
	checked
}

// MultiThrottleOptions configure a [MultiThrottle]. The zero value of each field means its default.
type MultiThrottleOptions struct {
	// Steps is for throttles of a cluster whose keys do not share a slot: without it the methods return
	// [backend.ErrCrossSlot]. With it a call asks slot by slot, in a round trip each, on a single server, too. After a
	// refusal or an error it gives back what it took, for which it waits for a second at most. Its promise is weaker: no
	// throttle grants more than its limit, but a call that is refused takes permits for a moment, so another caller may
	// be refused meanwhile. If the client crashes in between, or cannot reach the server, the permits stay in use until
	// the rate frees them, and so does what the rate has freed until they are given back.
	Steps bool

	_ struct{}
}

// Take is how many permits a [MultiThrottle] takes of one throttle.
type Take struct {
	throttle *Throttle
	n        int
}

// Take returns a part of a [MultiThrottle]: n permits of t, at least 1.
func (t *Throttle) Take(n int) Take { return Take{t, n} }

// MultiDecision is a [MultiThrottle]'s answer.
type MultiDecision struct {
	// Decision is the decision of Throttle. Allowed says that the permits of all throttles were taken.
	Decision

	// Throttle is the one that refused, and of several the one with the longest RetryAfter. If the permits were
	// taken, it is the one with the fewest permits left.
	Throttle *Throttle

	// Each has the throttles' own decisions, in the order of the takes. After a refusal nothing was taken, and
	// Allowed says that this throttle had enough permits. With [MultiThrottleOptions].Steps the throttles
	// of the slots that the call did not ask any more have a zero Decision. If the client repeats a refusal,
	// by [ThrottleOptions].RefuseLocally, the throttles that have not refused have one.
	Each []Decision
}

// throttleStep is the throttles that one call of the script asks.
type throttleStep struct {
	at                                []int // in the takes
	of                                []Take
	keys                              []string
	takes, permits, intervals, bursts []int64
}

// NewMultiThrottle returns the throttles as one. It sends nothing. The methods return a [*FieldError] if there is no
// take, if a throttle or its limit is invalid, if two takes are of the same name, or of throttles of different clients,
// or have other options, and [ErrAboveRate] if a take is of more permits than the burst. Nil options mean the defaults.
func NewMultiThrottle(opts *MultiThrottleOptions, takes ...Take) *MultiThrottle {
	m := &MultiThrottle{takes: slices.Clone(takes)}
	if m.invalid = m.check(); m.invalid != nil {
		return m
	}
	names, spec := make([]string, len(takes)), ""
	for i, take := range m.takes {
		names[i] = take.throttle.Name()
		spec += fmt.Sprintf(" %q %d %+v", take.throttle.base.Key(), take.n, take.throttle.limit)
	}
	m.steps = throttleSteps(opts != nil && opts.Steps, m.takes)
	core := m.takes[0].throttle.base.Core()
	m.base = core.NewObject("multi throttle", strings.Join(names, ", "), throttleType)
	m.want = m.takes[0].throttle.want
	m.want.Condition += spec
	return m
}

func (m *MultiThrottle) check() error {
	if len(m.takes) == 0 {
		return &FieldError{Field: "takes", Problem: "none"}
	}
	seen := map[string]bool{}
	for i, take := range m.takes {
		if take.throttle == nil {
			return &FieldError{Field: "takes", Problem: fmt.Sprintf("the throttle of number %d is nil", i+1)}
		}
		key := take.throttle.base.Key()
		if seen[key] {
			return &FieldError{Field: "takes", Problem: fmt.Sprintf("two have the key %q", key)}
		}
		if take.throttle.base.Core() != m.takes[0].throttle.base.Core() {
			return &FieldError{Field: "takes", Problem: fmt.Sprintf("%q is of another client", key)}
		}
		if err := take.throttle.validateCount(take.n); err != nil {
			return fmt.Errorf("%s %q: %w", throttleKind, take.throttle.Name(), err)
		}
		opts := take.throttle.opts
		opts.Policy = m.takes[0].throttle.opts.Policy // It alone may differ.
		if opts != m.takes[0].throttle.opts {
			return &FieldError{Field: "takes", Problem: fmt.Sprintf("%q has other options than the first", key)}
		}
		seen[key] = true
	}
	return nil
}

// throttleSteps returns the calls for takes: one for each slot, or one for all.
func throttleSteps(bySlot bool, takes []Take) []throttleStep {
	var steps []throttleStep
	places := map[int]int{} // of the steps, by their slots
	for i, take := range takes {
		t, slot := take.throttle, 0
		key := t.base.Key()
		if bySlot {
			slot = backend.Slot(key)
		}
		place, ok := places[slot]
		if !ok {
			place, places[slot], steps = len(steps), len(steps), append(steps, throttleStep{})
		}
		permits, intervals, bursts := t.limit.args()
		s := &steps[place]
		s.at, s.of = append(s.at, i), append(s.of, take)
		s.keys, s.takes = append(s.keys, key), append(s.takes, int64(take.n))
		s.permits, s.intervals, s.bursts = append(s.permits, permits...), append(s.intervals, intervals...), append(s.bursts, bursts...)
	}
	return steps
}

// Allow takes the permits if all throttles have enough. It takes one round trip and does not wait. A refusal is no
// error: it takes nothing, and the MultiDecision says when to try again, and which throttle refused.
func (m *MultiThrottle) Allow(ctx context.Context) (MultiDecision, error) {
	a := &multiThrottleAttempt{MultiThrottle: m}
	err := m.call(ctx, func() error {
		err := try(ctx, &m.base, (*multiThrottleTry)(a))
		if !a.repeated {
			_, err = a.fallBack(ctx, err)
		}
		a.report(ctx, err)
		return err
	})
	if err != nil {
		return MultiDecision{}, err
	}
	return a.decision(), nil
}

// Wait takes the permits, as [Throttle.Wait] does. The goroutines of one client that wait for the same takes go on in
// the order in which they came. They have no order with other waiters for these throttles.
func (m *MultiThrottle) Wait(ctx context.Context) error {
	return m.call(ctx, func() error {
		a := &multiThrottleAttempt{MultiThrottle: m}
		err := untilFree(ctx, &m.base, func() (time.Duration, error) {
			want := m.want
			want.Need, want.InOrder = 1, a.freeIn
			return a.fallBack(ctx, m.base.Acquire(ctx, want, a))
		})
		a.report(ctx, err)
		return err
	})
}

func (m *MultiThrottle) call(ctx context.Context, run func() error) error {
	if m.invalid != nil {
		return fmt.Errorf("acquire multi throttle: %w", m.invalid)
	}
	_, err := extend.Call(ctx, &m.base, nil, "acquire", func() (struct{}, error) { return struct{}{}, run() })
	return m.explain(ctx, &m.base, err, ", or set MultiThrottleOptions.Steps")
}

// explain returns err, of a call on o that also took of the throttles, with what to do about several slots, and with the
// throttle that it is about.
func (m *MultiThrottle) explain(ctx context.Context, o *extend.Object, err error, orElse string) error {
	var server *backend.ServerError
	switch {
	case errors.Is(err, backend.ErrCrossSlot):
		return fmt.Errorf("%w: give the names one hash tag%s", err, orElse)
	case errors.As(err, &server) && (errors.Is(err, ErrConflict) || errors.Is(err, ErrNoPermission)):
		return m.named(ctx, o, server, err)
	}
	return err
}

// named returns err with the throttle that the server's error is about, if it is about one.
func (m *MultiThrottle) named(ctx context.Context, o *extend.Object, server *backend.ServerError, err error) error {
	for _, take := range m.takes {
		t := take.throttle
		_, failed := t.State(ctx)
		missing, unknown := t.MissingRights(ctx)
		if failed == nil && (unknown != nil || len(missing) == 0) {
			continue
		}
		_, of := extend.Call(ctx, &t.base, nil, "acquire", func() (struct{}, error) { return struct{}{}, server })
		return fmt.Errorf("acquire %s %q: %w", o.ID().Object.Kind, o.Name(), of)
	}
	return err
}

// multiThrottleAttempt is one attempt to take permits of all throttles.
type multiThrottleAttempt struct {
	*MultiThrottle
	each     []Decision
	repeated bool // the client has repeated a refusal
}

func (a *multiThrottleAttempt) Try(ctx context.Context) (extend.Answer, error) {
	a.each = make([]Decision, len(a.takes))
	grants := make([]int64, 0, len(a.steps))
	for _, step := range a.steps {
		got, err := script.ThrottleTakeAll(ctx, a.takes[0].throttle.runner, step.keys, step.takes, step.permits, step.intervals, step.bursts)
		if err == nil {
			step.note(a.each, got.Remaining, got.Retry, got.Reset)
			if grants = append(grants, got.Now); got.Taken {
				continue
			}
			grants = grants[:len(grants)-1]
		}
		a.giveBack(ctx, grants)
		return extend.Answer{RetryIn: a.decision().RetryAfter}, err
	}
	return extend.Answer{Granted: true}, nil
}

// multiThrottleTry is a multiThrottleAttempt that does not wait: the client may repeat a refusal.
type multiThrottleTry multiThrottleAttempt

func (a *multiThrottleTry) Try(ctx context.Context) (extend.Answer, error) {
	ask, first := (*multiThrottleAttempt)(a), a.takes[0].throttle
	if !first.opts.RefuseLocally {
		return ask.Try(ctx)
	}
	each, ended := first.client.localRefusals.ask(a.takes)
	if each != nil {
		a.each, a.repeated = each, true
		return extend.Answer{}, nil
	}
	answer, err := ask.Try(ctx)
	if err == nil {
		first.client.localRefusals.note(a.takes, a.each, ended)
	}
	return answer, err
}

// fallBack decides an attempt that has ended with err, if the servers have not.
func (a *multiThrottleAttempt) fallBack(ctx context.Context, err error) (retryIn time.Duration, _ error) {
	takes := make([]limits.Take, len(a.takes))
	for i, take := range a.takes {
		takes[i] = take.throttle.local(take.n)
	}
	first := a.takes[0].throttle
	local, retryIn, err := first.opts.Unavailable.decide(ctx, first.client, err, takes...)
	if local {
		a.each = make([]Decision, len(takes))
		for i, take := range takes {
			a.each[i] = decidedLocally(take.RetryIn)
		}
	}
	return retryIn, err
}

// report reports the decision to the tracer, by the throttles: if some refuse, by those.
func (a *multiThrottleAttempt) report(ctx context.Context, err error) {
	refused := slices.ContainsFunc(a.each, func(d Decision) bool { return d.RetryAfter > 0 })
	for i, take := range a.takes {
		if err != nil {
			take.throttle.report(ctx, Decision{}, err)
		} else if d := a.each[i]; !refused || d.RetryAfter > 0 {
			take.throttle.report(ctx, d, nil)
		}
	}
}

// note notes a script's answer.
func (s throttleStep) note(each []Decision, remaining, retry, reset []int64) {
	for i, at := range s.at {
		each[at] = s.of[i].throttle.limit.decided(s.of[i].n, retry[i] == 0, remaining[i], retry[i], reset[i])
	}
}

// giveBack gives back the permits of the first steps, which were granted at these times of their servers. What cannot be
// given back stays in use until the rate frees it.
func (a *multiThrottleAttempt) giveBack(ctx context.Context, grants []int64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), partReleaseTimeout)
	defer cancel()
	for i, granted := range grants {
		s := a.steps[i]
		got, err := script.ThrottleReturn(ctx, a.base.Runner(), s.keys, granted, s.takes, s.permits, s.intervals, s.bursts)
		for _, take := range s.of {
			take.throttle.client.localRefusals.end(take.throttle)
		}
		if err != nil {
			a.base.Logger().Warn("permits of a refused call stay in use", zap.Strings("keys", s.keys), zap.Error(err))
			continue
		}
		s.note(a.each, got.Remaining, make([]int64, len(s.at)), got.Reset)
	}
}

func (a *multiThrottleAttempt) decision() MultiDecision {
	first := 0
	for i, d := range a.each {
		least := a.each[first]
		if cmp.Or(cmp.Compare(least.RetryAfter, d.RetryAfter), cmp.Compare(d.Remaining, least.Remaining)) < 0 {
			first = i
		}
	}
	return MultiDecision{Decision: a.each[first], Throttle: a.takes[first].throttle, Each: a.each}
}

// freeIn returns how long after the last answer the permits for n callers are free. It is an [extend.WaitSpec].InOrder.
func (a *multiThrottleAttempt) freeIn(n int) time.Duration {
	longest := time.Duration(0)
	for i, take := range a.takes {
		longest = max(longest, take.throttle.limit.freeIn(n*take.n, a.each[i]))
	}
	return longest
}
