package conformance

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// machine is a primitive that is driven by one action after the other, beside an exact model.
type machine interface {
	watcher

	// act takes one action, and returns an error if it did not do what the model says. An action
	// that makes no sense at present does nothing.
	act(ctx context.Context, a act) error

	// check compares all that can be seen with the model.
	check(ctx context.Context) error

	// end closes all clients, over sound links, and returns what is left over.
	end(ctx context.Context) error
}

// setting is what a machine's world is made of.
type setting struct {
	Clients      int
	Lease, Fixed time.Duration
	Poll         time.Duration
	Batches      bool // the links take batches
}

// act is one action of a machine: what is done, by which client, to which object. Which, Flag and
// For mean what the action makes of them.
type act struct {
	Op     string
	Client int
	Object int
	Which  int
	Flag   bool
	For    time.Duration
}

// GoString is what rapid prints.
func (a act) GoString() string { return a.String() }

// String returns an action in a form that can be read in the report of a failure.
func (a act) String() string {
	return fmt.Sprintf("%s client %d object %d which %d %v for %v",
		a.Op, a.Client, a.Object, a.Which, a.Flag, a.For)
}

const (
	// realGuard is how wide the moments of a real server are, beyond what was measured: how far its
	// clock may go apart from ours while a machine runs.
	realGuard = 100 * time.Millisecond
	// realActs is how many actions a machine takes on a real server.
	realActs = 15
	// propertyObjects is how many objects a machine has.
	propertyObjects = 2
)

// drawSetting draws a machine's world. On a real server leases are short, but longer than what is
// open, or those of the watchdog are endless, so that nothing but a message wakes a waiter.
func drawSetting(t *rapid.T, virtual bool) setting {
	s := setting{
		Clients: rapid.IntRange(1, 3).Draw(t, "clients"),
		Lease:   1500 * time.Millisecond, Fixed: time.Second, Poll: time.Hour,
	}
	if !virtual && rapid.Bool().Draw(t, "endless leases") {
		s.Lease = endlessLease
	}
	s.Batches = rapid.Bool().Draw(t, "batches")
	if virtual {
		s.Lease = oneOf(t, "lease", 30000, 1000, 300)
		s.Fixed = oneOf(t, "fixed", 100, 2000, 60000)
		s.Poll = rapid.SampledFrom([]time.Duration{time.Hour, 5 * time.Second}).Draw(t, "poll")
	}
	return s
}

// oneOf draws one of some numbers of milliseconds.
func oneOf(t *rapid.T, label string, millis ...int) time.Duration {
	return time.Duration(rapid.SampledFrom(millis).Draw(t, label)) * time.Millisecond
}

func drawAct(w Workload, s setting) *rapid.Generator[act] {
	return rapid.Custom(func(t *rapid.T) act {
		return act{
			Op:     rapid.SampledFrom(slices.Concat(w.acts, commonActs)).Draw(t, "op"),
			Client: rapid.IntRange(0, s.Clients-1).Draw(t, "client"),
			Object: rapid.IntRange(0, propertyObjects-1).Draw(t, "object"),
			Which:  rapid.IntRange(0, 5).Draw(t, "which"),
			Flag:   rapid.Bool().Draw(t, "flag"),
			For:    drawSpan(t, s),
		}
	})
}

// drawSpan draws a time that means something to a lease: a moment, or just before or after a third
// of it, its end for its holder, or its end. It is never a whole millisecond, so that nothing
// happens at the very same time as a timer.
func drawSpan(t *rapid.T, s setting) time.Duration {
	const odd = 137 * time.Microsecond
	leases := []time.Duration{s.Lease, s.Fixed}
	if s.Lease == endlessLease {
		leases = leases[1:] // A machine in real time does not wait for that.
	}
	lease := rapid.SampledFrom(leases).Draw(t, "lease")
	near := rapid.SampledFrom([]time.Duration{-time.Millisecond, time.Millisecond}).Draw(t, "near")
	switch rapid.IntRange(0, 7).Draw(t, "span") {
	case 0:
		return lease/3 + near + odd
	case 1:
		return lease - max(lease/10, 2*time.Millisecond) + near + odd
	case 2:
		return lease + near + odd
	case 3:
		return 2*lease + odd
	}
	return odd + drawDuration(t, "moment", 60*time.Millisecond)
}

// RunProperties drives each primitive by one action after the other, and compares all that can be
// seen with an exact model of it: what the server stores and answers, what callers get, what the
// holders of leases believe, where permits are, and who waits for something that is there. With
// [Harness.Bubble] that is in virtual time, where every time is exact, as often as -rapid.checks
// says; a failing case is made smaller, and kept by rapid. Without it [Harness.Rounds] machines run
// side by side in real time, but none with -short, and what is asked too close to the end of a lease is
// open.
func RunProperties(t *testing.T, h *Harness) Report {
	t.Helper()
	driven := slices.DeleteFunc(Workloads(), func(w Workload) bool { return w.machine == nil })
	return runAreas(t, h, "Properties", driven, func(t *testing.T, w Workload, reached *situations) {
		if h.Bubble == nil {
			realProperties(t, h, w, reached)
			return
		}
		rapid.Check(t, func(r *rapid.T) {
			s := drawSetting(r, true)
			rapid.SyncTest(r, func(r *rapid.T) { virtualProperty(r, h, w, s, reached) })
		})
	})
}

func virtualProperty(r *rapid.T, h *Harness, w Workload, s setting, reached *situations) {
	ctx := context.Background()
	e := newEnv(h.Bubble())
	defer outlast()
	defer e.close()
	m, err := w.machine(ctx, e, s, true, reached.add)
	if err != nil {
		r.Fatal(err)
	}
	taken := 0
	must := func(err error) {
		if err != nil {
			r.Fatal(stable(err))
		}
	}
	actions := map[string]func(*rapid.T){
		"": func(*rapid.T) { must(m.check(ctx)) },
		"act": func(r *rapid.T) {
			taken++
			must(m.act(ctx, drawAct(w, s).Draw(r, "act")))
		},
	}
	r.Repeat(actions)
	r.Repeat(actions) // What rapid does by default is little.
	must(m.end(ctx))
	reached.addN("actions", taken)
}

// random is what differs each time in the texts of errors: cases' tags, and owners.
var random = regexp.MustCompile(`conf-[0-9A-Z]{10}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:-?[0-9]+`)

// stable returns the text of err, with numbers for what is random: rapid makes a failure smaller if
// it finds it again by its text.
func stable(err error) string {
	var seen []string
	return random.ReplaceAllStringFunc(err.Error(), func(name string) string {
		if !slices.Contains(seen, name) {
			seen = append(seen, name)
		}
		return fmt.Sprint("#", slices.Index(seen, name))
	})
}

// outlast lets what is still under way in a bubble come to its end: nothing goes on there when the
// bubble's first goroutine has ended.
func outlast() { time.Sleep(time.Hour) }

// realProperties draws all actions before: what happens in real time does not happen again, so that
// there is no use in making it smaller.
func realProperties(t *testing.T, h *Harness, w Workload, reached *situations) {
	t.Helper()
	h.eachRound(t, func(seed int) error {
		s := rapid.Custom(func(r *rapid.T) setting { return drawSetting(r, false) }).Example(seed)
		acts := rapid.SliceOfN(drawAct(w, s), realActs, realActs).Example(seed)
		if taken, err := realProperty(t.Context(), h, w, s, acts, reached); err != nil {
			return fmt.Errorf("machine %d, %v: %w\nafter\n%v", seed, s, err, lines(acts[:taken]))
		}
		return nil
	})
}

// realProperty returns how many actions were taken.
func realProperty(
	ctx context.Context, h *Harness, w Workload, s setting, acts []act, reached *situations,
) (taken int, err error) {
	e := newEnv(h)
	defer e.close()
	m, err := w.machine(ctx, e, s, false, reached.add)
	if err != nil {
		return 0, err
	}
	for i, a := range acts {
		if err := errors.Join(m.act(ctx, a), m.check(ctx)); err != nil {
			return i + 1, err
		}
	}
	reached.addN("actions", len(acts))
	return len(acts), m.end(ctx)
}

func lines(acts []act) (text string) {
	for _, a := range acts {
		text += "    " + a.String() + "\n"
	}
	return text
}
