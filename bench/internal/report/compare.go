package report

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"golang.org/x/perf/benchmath"
)

// Compare prints what has changed since an older run, of what both have measured.
func (r *Run) Compare(w io.Writer, old *Run) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "what\tunit\t%s\tnow\tchange\n", old.Time.Format("2006-01-02"))
	shared := false
	for _, row := range r.Rows {
		i := slices.IndexFunc(old.Rows, func(was Row) bool { return name(was) == name(row) })
		if i < 0 {
			continue
		}
		shared = true
		for _, unit := range []string{"ops/s", "commands/op", "script-us/op", "allocs/op", "p99-us"} {
			before, after := old.Rows[i].Values[unit], row.Values[unit]
			if len(before) == 0 || len(after) == 0 {
				continue
			}
			fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", name(row), unit,
				figure(MedianOf(before).Center, before), figure(MedianOf(after).Center, after), change(before, after))
		}
	}
	if !shared {
		fmt.Fprintln(out, "nothing that both runs have measured")
	}
	return out.Flush()
}

// change returns the change of a median, or "~" if it may be chance.
func change(before, after []float64) string {
	return benchmath.AssumeNothing.Compare(sample(before), sample(after)).
		FormatDelta(MedianOf(before).Center, MedianOf(after).Center)
}
