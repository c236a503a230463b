package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// noticed bounds how long a backend may take to notice a silent link, with something for a slow machine.
const noticed = 15*time.Second + 5*time.Second

// gapCases are about what a subscriber may have missed: S2.
func gapCases() []harness.Case {
	return []harness.Case{
		gap("BrokenConnectionIsAGap", cut, harness.PubSub, harness.Faults),
		alone(gap("KilledConnectionIsAGap", kill, harness.PubSub, harness.ClientList)),
		gap("SilentLinkIsAGap", silence, harness.PubSub, harness.Faults),
		gap("RepeatedBreaksAreGaps", cutAgain, harness.PubSub, harness.Faults),
		alone(gap("RestartIsAGap", restart, harness.PubSub, harness.Restart)),
		alone(of("S2", "IsolatedPrimaryIsAGap", isolatedPrimaryIsAGap, harness.PubSub, harness.Isolate)),
		alone(gap("MovedSlotIsAGap", move, harness.Sharded, harness.Migrate)),
	}
}

// disturber makes a gap in a subscription to the channel c over in.
type disturber func(ctx context.Context, e *harness.Env, in *harness.Instance)

// gap returns a case of a gap.
func gap(name string, disturb disturber, needs ...harness.Need) harness.Case {
	return of("S2", name, func(ctx context.Context, e *harness.Env) { wantGap(ctx, e, disturb) }, needs...)
}

func cut(_ context.Context, _ *harness.Env, in *harness.Instance) { in.Link.Cut() }

// silence leaves only the silence as a sign of the gap.
func silence(_ context.Context, _ *harness.Env, in *harness.Instance) { in.Link.Silence() }

func kill(ctx context.Context, e *harness.Env, _ *harness.Instance) {
	must.Get(e.Primaries(ctx, "CLIENT", "KILL", "TYPE", "pubsub"))
}

// cutAgain breaks the connection at moments when it is just being made again.
func cutAgain(_ context.Context, _ *harness.Env, in *harness.Instance) {
	for range 20 {
		in.Link.Cut()
		time.Sleep(3 * time.Millisecond)
	}
}

func restart(ctx context.Context, e *harness.Env, _ *harness.Instance) {
	must.Do(e.Restart(ctx, false))
}

func move(ctx context.Context, e *harness.Env, _ *harness.Instance) {
	must.Do(must.Get(e.Migrate(ctx, e.Key("c")))(ctx))
}

// isolatedPrimaryIsAGap leaves the subscription on a primary that answers, but is none any more for others.
func isolatedPrimaryIsAGap(ctx context.Context, e *harness.Env) {
	rejoin := func() error { return nil }
	err := must.Catch(func() {
		wantGap(ctx, e, func(ctx context.Context, e *harness.Env, _ *harness.Instance) {
			rejoin = must.Get(e.Isolate(ctx, e.Key("c")))
		})
	})
	must.Do(errors.Join(err, rejoin()))
}

// wantGap subscribes, makes a gap, and fails if that is not reported in time, or if messages do not
// arrive that are published after the report.
func wantGap(ctx context.Context, e *harness.Env, disturb disturber) {
	in, channel := e.Open(ctx), e.Key("c")
	box, _ := e.Listen(ctx, in.Backend, channel)
	hear(ctx, e, box, channel, "before")
	before := len(box.Events())
	disturb(ctx, e, in)
	gapCtx, cancel := context.WithTimeout(ctx, noticed)
	defer cancel()
	box.Await(gapCtx, "a Resubscribed event", func(got []backend.Event) bool {
		return slices.ContainsFunc(got[before:], harness.IsGap)
	})
	hearAgain(ctx, e, box, channel)
}

// hearAgain publishes after a gap was reported. What is published then must arrive, or another gap must be reported.
func hearAgain(ctx context.Context, e *harness.Env, box *harness.Inbox, channel string) {
	for i := 0; ; i++ {
		sent, before := backend.Event{Payload: fmt.Sprint("after ", i)}, len(box.Events())
		e.Publish(ctx, channel, sent.Payload)
		heard := func(e backend.Event) bool { return e == sent || harness.IsGap(e) } // Earlier messages may be late.
		events := box.Await(ctx, "a message published after the gap was reported",
			func(got []backend.Event) bool { return slices.ContainsFunc(got[before:], heard) })
		if slices.Contains(events[before:], sent) {
			return
		}
	}
}
