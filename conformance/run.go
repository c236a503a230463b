package conformance

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

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

// Run judges the backends of h by everything in the suite: every case, and each primitive under
// faults, by its properties and by its histories. It returns when all are done, and prints a summary.
// With -short it leaves out properties and histories in real time, which the report does not name.
func Run(t *testing.T, h *Harness) Report {
	t.Helper()
	report := run(t, h, slices.Concat(Cases(), FaultCases()))
	for _, area := range []func(*testing.T, *Harness) Report{RunProperties, RunHistories} {
		r := area(t, h)
		report.Passed = append(report.Passed, r.Passed...)
		report.Failed = append(report.Failed, r.Failed...)
	}
	return report
}

// RunRunner judges the backends of h as script runners: clauses R, B and W.
func RunRunner(t *testing.T, h *Harness) Report {
	t.Helper()
	return run(t, h, RunnerCases())
}

// RunPrimitives judges the primitives over the backends of h.
func RunPrimitives(t *testing.T, h *Harness) Report {
	t.Helper()
	return run(t, h, PrimitiveCases())
}

// RunSubscriber judges the backends of h as subscribers: clauses S.
func RunSubscriber(t *testing.T, h *Harness) Report {
	t.Helper()
	return run(t, h, SubscriberCases())
}

// Cases returns all cases of the suite.
func Cases() []Case {
	return slices.Concat(RunnerCases(), SubscriberCases(), PrimitiveCases())
}

// RunnerCases returns the cases of the clauses R, B and W.
func RunnerCases() []Case {
	return slices.Concat(sendCases(), onceCases(), replyCases(), cancelCases(), lifeCases(),
		batchCases(), claimCases())
}

// SubscriberCases returns the cases of the clauses S.
func SubscriberCases() []Case {
	return slices.Concat(subscribeCases(), gapCases(), shareCases())
}

// PrimitiveCases returns the cases of what package primitives promises.
func PrimitiveCases() []Case {
	return slices.Concat(lockCases(), leaseCases(), lockFaultCases(), lockStressCases(),
		lockWireCases(), semaphoreCases(), semaphoreWaitingCases(), semaphoreReturnCases(),
		latchCases(), atomicCases(), prefixCases())
}

// run runs cases: first those that may share the server, side by side, then the others.
func run(t *testing.T, h *Harness, cases []Case) Report {
	t.Helper()
	if err := h.validate(); err != nil {
		t.Fatal(err)
	}
	r := recorder{report: Report{Skipped: map[string]string{}}}
	t.Run("Together", func(t *testing.T) {
		for _, c := range cases {
			if !c.Alone {
				t.Run(c.Name, func(t *testing.T) { t.Parallel(); r.run(t, h, c) })
			}
		}
	})
	t.Run("Alone", func(t *testing.T) {
		for _, c := range cases {
			if c.Alone {
				t.Run(c.Name, func(t *testing.T) { r.run(t, h, c) })
			}
		}
	})
	r.report.log(t)
	return r.report
}

type recorder struct {
	mu     sync.Mutex
	report Report
}

func (r *recorder) run(t *testing.T, h *Harness, c Case) {
	t.Helper()
	if reason := c.Skip(h); reason != "" {
		r.mu.Lock()
		r.report.Skipped[c.Name] = reason
		r.mu.Unlock()
		t.Skip(reason)
	}
	err := c.Check(t.Context(), h)
	r.mu.Lock()
	if err == nil {
		r.report.Passed = append(r.report.Passed, c.Name)
	} else {
		r.report.Failed = append(r.report.Failed, c.Name)
	}
	r.mu.Unlock()
	if err != nil {
		t.Error(err)
	}
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
