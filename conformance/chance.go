package conformance

import (
	"maps"
	"testing"

	"github.com/hasp-go/hasp/conformance/adder"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
)

// RunProperties drives each primitive by one action after the other, and compares all that can be
// seen with an exact model of it: what the server stores and answers, what callers get, what the
// holders of leases believe, where permits are, and which callers wait for something that is there. All
// times are virtual, and exact: without [Harness.Bubble] it runs nothing. It draws as many machines as
// -rapid.checks says; rapid makes a failing one smaller, and keeps it.
func RunProperties(t *testing.T, h *Harness) Report {
	t.Helper()
	if h.Bubble == nil {
		return Report{}
	}
	report := runEach(t, h, "Properties", Primitives(), engine.Subject.Properties)
	return report.and(runOne(t, h, "AdderProperties", adder.Properties))
}

// RunHistories draws schedules for each primitive, runs them on several clients at once, and checks
// that the model of the primitive explains what they saw, and that nobody waited for something that
// was there. With [Harness.Bubble] a schedule runs in virtual time, as often as -rapid.checks says,
// over links with trouble; a failing one is made smaller. Without it [Harness.Rounds] of them run
// in real time, but none with -short. The picture of a history that failed is named in the error.
func RunHistories(t *testing.T, h *Harness) Report {
	t.Helper()
	return runEach(t, h, "Histories", Primitives(), engine.Subject.Histories)
}

// SoakCell is one thing that a soak runs on, such as an adapter on a server.
type SoakCell = engine.SoakCell

// SoakOptions configure [RunSoak]. Nil means the defaults.
type SoakOptions = engine.SoakOptions

// RunSoak runs crowds of clients at random for a long time: on a cell drawn from cells for a turn, then on another. It
// draws which objects a crowd uses, how, and what goes wrong meanwhile, and checks each object's history. A failure
// prints the seed, the cell, the schedule and the picture of the history. In the end it prints how often it got into
// which situation, and fails if it has checked no history. It returns those counts.
func RunSoak(t *testing.T, cells []SoakCell, o *SoakOptions) map[string]int {
	t.Helper()
	return engine.RunSoak(t, Primitives(), cells, o)
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
