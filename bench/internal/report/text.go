package report

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"
)

// order is the order of the columns; other units follow.
var order = []string{
	"ops/s", "commands/op", "scripts/op", "script-us/op", "server-us/op", "client-us/op", "allocs/op", "B/op",
	"p50-us", "p99-us", "longest-ms", "least", "most", "client-cpu%", "server-cpu%", "goroutines", "connections",
}

// hidden are units that the file has, and a table would be too wide with.
var hidden = []string{"p10-us", "p25-us", "p75-us", "p90-us"}

// Table is the format for people, and Formats are all.
const Table = "table"

// Formats are what [Run.Write] prints.
var Formats = []string{Table, "json", "benchstat"}

// Write prints the run in one of the formats.
func (r *Run) Write(w io.Writer, format string) error {
	switch format {
	case Table:
		return r.table(w)
	case "json":
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "\t")
		return encoder.Encode(r)
	case "benchstat":
		return r.benchstat(w)
	}
	return fmt.Errorf("no format %q: there are %s", format, strings.Join(Formats, ", "))
}

func (r *Run) table(w io.Writer) error {
	fmt.Fprintf(w, "%s, %d cores, %s, %s\n", r.Machine.Processor, r.Machine.Cores, r.Machine.System, r.Machine.Go)
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, group := range groups(r.Rows) {
		first := group[0]
		_ = out.Flush()
		fmt.Fprintf(w, "\n%s/%d on %s, %s%s\n", first.Workload, first.Size, first.Backend, first.Server, link(first))
		units := unitsOf(group)
		fmt.Fprintf(out, "\tto bare\t%s\t\n", strings.Join(units, "\t"))
		bare, hasBare := subject(group, "bare")
		for _, row := range group {
			fmt.Fprintf(out, "%s\t", row.Subject)
			if hasBare {
				fmt.Fprint(out, Ratio(row, bare).ratio())
			}
			for _, unit := range units {
				fmt.Fprintf(out, "\t%s", figure(MedianOf(row.Values[unit]).Center, row.Values[unit]))
			}
			fmt.Fprint(out, "\t\n")
		}
	}
	return out.Flush()
}

func link(row Row) string {
	if row.LinkMS == 0 {
		return ""
	}
	return fmt.Sprintf(", through a link of %g ms", row.LinkMS)
}

// ratio returns a ratio with its interval, which few rounds have not.
func (m Median) ratio() string {
	if math.IsInf(m.High, 0) {
		return fmt.Sprintf("%.3f", m.Center)
	}
	return fmt.Sprintf("%.3f (%.3f to %.3f)", m.Center, m.Low, m.High)
}

// figure returns a number with three digits that count, or nothing where there is none.
func figure(n float64, values []float64) string {
	switch {
	case len(values) == 0:
		return ""
	case n == 0 || math.Abs(n) >= 100:
		return fmt.Sprintf("%.0f", n)
	}
	return fmt.Sprintf("%.*f", 2-int(math.Floor(math.Log10(math.Abs(n)))), n)
}

// unitsOf returns the units of a group that are shown.
func unitsOf(group []Row) []string {
	all := map[string]bool{}
	for _, row := range group {
		for unit := range row.Values {
			all[unit] = !slices.Contains(hidden, unit)
		}
	}
	maps.DeleteFunc(all, func(_ string, shown bool) bool { return !shown })
	rank := func(unit string) int {
		if i := slices.Index(order, unit); i >= 0 {
			return i
		}
		return len(order)
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
}

// benchstat prints one line for each turn, as benchstat reads them.
func (r *Run) benchstat(w io.Writer) error {
	system, architecture, _ := strings.Cut(r.Machine.System, "/")
	fmt.Fprintf(w, "goos: %s\ngoarch: %s\ncpu: %s\n", system, architecture, r.Machine.Processor)
	for _, row := range r.Rows {
		speeds := row.Values["ops/s"]
		for i := range speeds {
			fmt.Fprintf(w, "Benchmark%s 1", name(row))
			if speeds[i] > 0 {
				fmt.Fprintf(w, " %.0f ns/op", 1e9/speeds[i])
			}
			for _, unit := range unitsOf([]Row{row}) {
				if values := row.Values[unit]; unit != "ops/s" && i < len(values) {
					fmt.Fprintf(w, " %g %s", values[i], unit)
				}
			}
			fmt.Fprintln(w)
		}
	}
	return nil
}

// name returns LockPair/hasp/rueidis/redis/64.
func name(row Row) string {
	var title strings.Builder
	for word := range strings.SplitSeq(row.Workload, "_") {
		letters := []rune(word)
		title.WriteString(string(unicode.ToUpper(letters[0])) + string(letters[1:]))
	}
	all := fmt.Sprintf("%s/%s/%s/%s/%d", title.String(), row.Subject, row.Backend, row.Server, row.Size)
	if row.LinkMS > 0 {
		all += fmt.Sprintf("/link=%gms", row.LinkMS)
	}
	return all
}

// RatioLine prints the ratios to the bare driver, as a machine reads them: "ratio lock_pair/64 rueidis/bare=0.95".
func (r *Run) RatioLine(w io.Writer) {
	fmt.Fprint(w, "ratio")
	for _, group := range groups(r.Rows) {
		ours, ok := subject(group, "hasp")
		bare, both := subject(group, "bare")
		if ok && both {
			fmt.Fprintf(w, " %s/%d %s/bare=%.3f", ours.Workload, ours.Size, ours.Backend, Ratio(ours, bare).Center)
		}
	}
	fmt.Fprintln(w)
}
