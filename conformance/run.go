package conformance

import (
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	_ "pgregory.net/rapid" // It has the flag that Main sets.

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
	"github.com/hasp-go/hasp/conformance/throttle"
)

// Primitives returns the declarations of all primitives but adders, which no declaration describes.
func Primitives() []engine.Subject {
	return []engine.Subject{
		exclusive.Lock, exclusive.Fenced, exclusive.Spin, exclusive.Plain, fairlock.Primitive, readwrite.Primitive, semaphore.Primitive,
		permits.Primitive, counting.Primitive, counting.ByArrival, mutex.Primitive,
		latch.Primitive, number.Long, number.Double, idgenerator.Primitive, limiter.Primitive, throttle.Primitive,
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
func (r Report) Reasons() []string { return slices.Compact(slices.Sorted(maps.Values(r.Skipped))) }

// and returns r with what another run did, but not with what that left out.
func (r Report) and(other Report) Report {
	r.Passed = append(r.Passed, other.Passed...)
	r.Failed = append(r.Failed, other.Failed...)
	return r
}

// Part is a part of the suite.
type Part int

// The parts of the suite. PartRunner judges backends as script runners, by clauses R, B, W and L; PartSubscriber as
// subscribers, by clauses S. PartPrimitives judges the primitives over them, case by case. PartFaults makes each fault
// that the harness can make while workers use a lock, a fair lock and a read-write lock, and checks that the model
// explains what they saw, that work goes on within the bound of the fault, and that no lease is lost that need not be.
//
// PartProperties drives each primitive by one action after the other, and compares all that can be seen with an exact
// model of it: it draws as many machines as -rapid.checks says, in virtual time, and without [Harness.Bubble] none.
// PartHistories draws schedules for each primitive, runs them on several clients at once, and checks that the model of
// the primitive explains what they saw: with [Harness.Bubble] in virtual time, as often as -rapid.checks says, over links
// with trouble; without it [Harness.Rounds] of them in real time, but none with -short.
const (
	PartRunner Part = iota
	PartSubscriber
	PartPrimitives
	PartFaults
	PartProperties
	PartHistories
)

// orAll returns some parts; if there are none, all.
func orAll(some []Part) []Part {
	if len(some) > 0 {
		return some
	}
	return []Part{PartRunner, PartSubscriber, PartPrimitives, PartFaults, PartProperties, PartHistories}
}

// Run judges the backends of h by some parts of the suite, or by all if none is given, and prints a summary. With
// -short it leaves out histories in real time, which the report does not name, and of the cases that judge what
// primitives share, such as the watchdog, all but one.
func Run(t *testing.T, h *Harness, some ...Part) (report Report) {
	t.Helper()
	some = orAll(some)
	if cases := Cases(some...); len(cases) > 0 {
		report = run(t, h, cases)
	}
	if slices.Contains(some, PartProperties) && h.Bubble != nil {
		report = report.and(runEach(t, h, "Properties", Primitives(), engine.Subject.Properties))
	}
	if slices.Contains(some, PartHistories) {
		report = report.and(runEach(t, h, "Histories", Primitives(), engine.Subject.Histories))
	}
	return report
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

// Cases returns the cases of some parts of the suite, or of all if none is given; properties and histories are none. Of
// faults there is one for each way in which primitives wait: all race, they queue up, or there are two kinds of them.
func Cases(some ...Part) (cases []Case) {
	for _, part := range orAll(some) {
		switch part {
		case PartRunner:
			cases = append(cases, contract.RunnerCases()...)
		case PartSubscriber:
			cases = append(cases, contract.SubscriberCases()...)
		case PartPrimitives:
			for _, p := range Primitives() {
				cases = append(cases, p.Cases()...)
			}
			cases = append(cases, adder.Cases()...)
		case PartFaults:
			cases = slices.Concat(cases, exclusive.Lock.FaultCases(), fairlock.Primitive.FaultCases(), readwrite.Primitive.FaultCases())
		case PartProperties, PartHistories:
		}
	}
	return cases
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
	t.Logf("conformance: %d passed, %d failed, %d skipped", len(r.Passed), len(r.Failed), len(r.Skipped))
	byReason := map[string][]string{}
	for name, reason := range r.Skipped {
		byReason[reason] = append(byReason[reason], name)
	}
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		t.Logf("  skipped, %s: %s", reason, strings.Join(slices.Sorted(slices.Values(byReason[reason])), " "))
	}
}

// runEach runs one kind of test for each of some primitives.
func runEach(
	t *testing.T, h *Harness, kind string, subjects []engine.Subject,
	test func(engine.Subject, *testing.T, *Harness, *engine.Coverage),
) Report {
	t.Helper()
	report := Report{Skipped: map[string]string{}}
	for _, p := range subjects {
		name := p.String() + kind
		var reached engine.Coverage
		one := runOne(t, h, name, func(t *testing.T, h *Harness) { test(p, t, h, &reached) })
		report = report.and(one)
		maps.Copy(report.Skipped, one.Skipped)
		if text := reached.String(); text != "" { // Else -run has left it out.
			t.Logf("%s: %s", name, text)
		}
	}
	return report
}

// runOne runs a test that draws what it does. In real time -short leaves it out.
func runOne(t *testing.T, h *Harness, name string, test func(*testing.T, *Harness)) Report {
	t.Helper()
	if err := h.Validate(); err != nil {
		t.Fatal(err)
	}
	short := h.Bubble == nil && testing.Short()
	ok := t.Run(name, func(t *testing.T) {
		if short {
			t.Skip(harness.SkipRandom)
		}
		test(t, h)
	})
	switch {
	case short:
		return Report{Skipped: map[string]string{name: harness.SkipRandom}}
	case ok:
		return Report{Passed: []string{name}}
	}
	return Report{Failed: []string{name}}
}

// Main runs the tests of m with -parallel 16, unless another number is given, and returns the exit code. The cases
// mostly wait, so there should be more of them at once than the machine has processors:
//
//	func TestMain(m *testing.M) { os.Exit(conformance.Main(m)) }
//
// If the variable HASP_SEED is set, all that is random is drawn from that number, and not from another one each time.
func Main(m *testing.M) int {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "16")
	}
	// The traceback of a panic in a driver's goroutine then names what the case was about (clause R12).
	_ = os.Setenv("GODEBUG", os.Getenv("GODEBUG")+",tracebacklabels=1")
	if seed := os.Getenv("HASP_SEED"); seed != "" {
		if err := flag.Set("rapid.seed", seed); err != nil {
			panic(err)
		}
	}
	return m.Run()
}

// Patience bounds every case.
const Patience = harness.Patience

// Harness is what the suite needs to judge an adapter against one server or cluster.
type Harness = harness.Harness

// Instance is one backend, with the client that it was made from.
type Instance = harness.Instance

// Case is one thing that a clause of a contract asks for.
type Case = harness.Case
