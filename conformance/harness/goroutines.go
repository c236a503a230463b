package harness

import (
	"context"
	"runtime/pprof"
	"strings"

	"github.com/hasp-go/hasp/conformance/must"
)

// LeavesNoGoroutine calls live, and fails if goroutines stay that it has started.
func (e *Env) LeavesNoGoroutine(ctx context.Context, live func(ctx context.Context)) {
	pprof.Do(ctx, pprof.Labels("conformance", e.Tag), live)
	ctx, cancel := context.WithTimeout(ctx, Patience/2)
	defer cancel()
	Eventually(ctx, "the goroutines to end", func() bool {
		left := goroutines(e.Tag)
		must.If(left != "", "left:\n%s", left)
		return true
	})
}

// goroutines shows the goroutines with the given label.
func goroutines(label string) string {
	var all, found strings.Builder
	must.Do(pprof.Lookup("goroutine").WriteTo(&all, 1))
	for group := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(group, label) {
			found.WriteString(group + "\n\n")
		}
	}
	return found.String()
}
