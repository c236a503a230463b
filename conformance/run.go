package conformance

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hasp-go/hasp/conformance/adder"
	"github.com/hasp-go/hasp/conformance/contract"
	"github.com/hasp-go/hasp/conformance/counting"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/exclusive"
	"github.com/hasp-go/hasp/conformance/fairlock"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/idgenerator"
	"github.com/hasp-go/hasp/conformance/latch"
	"github.com/hasp-go/hasp/conformance/limiter"
	"github.com/hasp-go/hasp/conformance/mutex"
	"github.com/hasp-go/hasp/conformance/number"
	"github.com/hasp-go/hasp/conformance/permits"
	"github.com/hasp-go/hasp/conformance/readwrite"
	"github.com/hasp-go/hasp/conformance/semaphore"
)

// Primitives returns the declarations of all primitives but adders, which no declaration describes.
func Primitives() []engine.Subject {
	return []engine.Subject{
		exclusive.Lock, exclusive.Fenced, exclusive.Spin, fairlock.Primitive, readwrite.Primitive, semaphore.Primitive,
		permits.Primitive, counting.Primitive, counting.ByArrival, mutex.Primitive,
		latch.Primitive, number.Long, number.Double, idgenerator.Primitive, limiter.Primitive,
	}
}

// Report is what a run did.
type Report struct {
	// Passed and Failed are names of cases.
	Passed, Failed []string

	// Skipped maps the names of the cases that could not run to the reason.
	Skipped map[string]string
}

// Reasons returns why cases were skipped, each reason once, sorted: a test asserts those that it
// expects. A run of some cases only, by -run, has fewer.
func (r Report) Reasons() []string {
	return slices.Compact(slices.Sorted(maps.Values(r.Skipped)))
}

// and returns r with what another run did, but not with what that left out.
func (r Report) and(other Report) Report {
	r.Passed = append(r.Passed, other.Passed...)
	r.Failed = append(r.Failed, other.Failed...)
	return r
}

// Run judges the backends of h by everything in the suite: every case, and each primitive under
// faults, by its histories, and with [Harness.Bubble] by its properties. It returns when all are done, and
// prints a summary. With -short it leaves out histories in real time, which the report does not name, and of
// the cases that judge what primitives share, such as the watchdog, all but one.
func Run(t *testing.T, h *Harness) Report {
	t.Helper()
	report := run(t, h, slices.Concat(Cases(), FaultCases()))
	return report.and(RunProperties(t, h)).and(RunHistories(t, h))
}

// RunRunner judges the backends of h as script runners: clauses R, B and W.
func RunRunner(t *testing.T, h *Harness) Report {
	t.Helper()
	return run(t, h, contract.RunnerCases())
}

// RunSubscriber judges the backends of h as subscribers: clauses S.
func RunSubscriber(t *testing.T, h *Harness) Report {
	t.Helper()
	return run(t, h, contract.SubscriberCases())
}

// RunPrimitives judges the primitives over the backends of h.
func RunPrimitives(t *testing.T, h *Harness) Report {
	t.Helper()
	return run(t, h, primitiveCases())
}

// RunFaults makes each fault that h can make while workers use a lock, a fair lock and a read-write lock, and
// checks that the model explains what they saw, that work goes on within the bound of the fault, and that no
// lease is lost that need not be.
func RunFaults(t *testing.T, h *Harness) Report {
	t.Helper()
	return run(t, h, FaultCases())
}

// RunPrimitive judges somebody's own primitive over the backends of h, by all that follows from its declaration.
func RunPrimitive(t *testing.T, h *Harness, p engine.Subject) Report {
	t.Helper()
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	own := []engine.Subject{p}
	report := run(t, h, slices.Concat(p.Cases(), p.FaultCases()))
	if h.Bubble != nil {
		report = report.and(runEach(t, h, "Properties", own, engine.Subject.Properties))
	}
	return report.and(runEach(t, h, "Histories", own, engine.Subject.Histories))
}

// Cases returns all cases of the suite but those of faults.
func Cases() []Case {
	return slices.Concat(contract.RunnerCases(), contract.SubscriberCases(), primitiveCases())
}

// primitiveCases returns the cases of all primitives, those of faults excepted.
func primitiveCases() (cases []Case) {
	for _, p := range Primitives() {
		cases = append(cases, p.Cases()...)
	}
	return append(cases, adder.Cases()...)
}

// FaultCases returns a case for each fault, for each of the three ways in which primitives wait: all waiters of
// an object race, they queue up, or there are two kinds of them.
func FaultCases() []Case {
	return slices.Concat(exclusive.Lock.FaultCases(), fairlock.Primitive.FaultCases(), readwrite.Primitive.FaultCases())
}

// run runs cases: first those that may share the server, side by side, then the others.
func run(t *testing.T, h *Harness, cases []Case) Report {
	t.Helper()
	if err := h.Validate(); err != nil {
		t.Fatal(err)
	}
	r := recorder{report: Report{Skipped: map[string]string{}}, repeat: repeats(cases)}
	for _, group := range []struct {
		name  string
		alone bool
	}{{"Together", false}, {"Alone", true}} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range cases {
				if c.Alone == group.alone {
					t.Run(c.Name, func(t *testing.T) { r.run(t, h, c) })
				}
			}
		})
	}
	r.report.log(t)
	return r.report
}

// recorder collects what cases that run side by side did.
type recorder struct {
	mu     sync.Mutex
	report Report
	repeat map[string]bool // cases that -short leaves to others
}

// repeats returns the names of the cases that judge what an earlier one judges for another primitive.
func repeats(cases []Case) map[string]bool {
	seen, repeat := map[string]bool{}, map[string]bool{}
	for _, c := range cases {
		repeat[c.Name] = seen[c.Shared]
		seen[c.Shared] = c.Shared != ""
	}
	return repeat
}

func (r *recorder) run(t *testing.T, h *Harness, c Case) {
	t.Helper()
	if !c.Alone {
		t.Parallel()
	}
	reason := c.Skip(h)
	if reason == "" && r.repeat[c.Name] && testing.Short() {
		reason = harness.SkipShared
	}
	if reason != "" {
		r.note(func() { r.report.Skipped[c.Name] = reason })
		t.Skip(reason)
	}
	if err := c.Check(t.Context(), h); err != nil {
		r.note(func() { r.report.Failed = append(r.report.Failed, c.Name) })
		t.Fatal(err)
	}
	r.note(func() { r.report.Passed = append(r.report.Passed, c.Name) })
}

func (r *recorder) note(what func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	what()
}

// log prints the numbers, and the skipped cases by reason.
func (r Report) log(t *testing.T) {
	t.Helper()
	t.Logf("conformance: %d passed, %d failed, %d skipped",
		len(r.Passed), len(r.Failed), len(r.Skipped))
	byReason := map[string][]string{}
	for name, reason := range r.Skipped {
		byReason[reason] = append(byReason[reason], name)
	}
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		t.Logf("  skipped, %s: %s", reason,
			strings.Join(slices.Sorted(slices.Values(byReason[reason])), " "))
	}
}
