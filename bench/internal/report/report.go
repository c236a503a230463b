// Package report prints what was measured, keeps it in a file, and draws it.
package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"golang.org/x/perf/benchmath"
)

// Run is what one run of the program has measured, and on what.
type Run struct {
	Time     time.Time         `json:"time"`
	Command  []string          `json:"command"`
	Machine  Machine           `json:"machine"`
	Versions map[string]string `json:"versions"` // of servers and modules, by name
	Rows     []Row             `json:"rows"`
}

// Machine is what a run was made on.
type Machine struct {
	Processor string `json:"processor"`
	Cores     int    `json:"cores"`
	System    string `json:"system"`
	Go        string `json:"go"`
}

// New returns a run without rows.
func New(args []string) *Run {
	r := &Run{Time: time.Now().UTC().Truncate(time.Second), Command: args, Versions: map[string]string{}, Machine: Machine{
		Processor: processor(), Cores: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
	}}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			r.Versions[module.Path] = module.Version
		}
	}
	return r
}

// processor returns the name of the processor, as Linux reports it.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// Append adds the run to a file, as one line.
func (r *Run) Append(path string) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // Anybody may read it.
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Close())
}

// Last returns the last run in a file.
func Last(path string) (*Run, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var last []byte
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 {
			last = line
		}
	}
	if last == nil {
		return nil, fmt.Errorf("%s has no run", path)
	}
	r := &Run{}
	return r, json.Unmarshal(last, r)
}

// confidence is the confidence level of the intervals.
const confidence = 0.95

// Median is a median with its interval.
type Median struct{ Center, Low, High float64 }

// MedianOf returns the median of values.
func MedianOf(values []float64) Median {
	if len(values) == 0 {
		return Median{}
	}
	s := benchmath.AssumeNothing.Summary(sample(values), confidence)
	return Median{s.Center, s.Lo, s.Hi}
}

// sample returns values in a form of their own, which is sorted.
func sample(values []float64) *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
}

// Ratio returns how much faster ours is than theirs, by the turns of each round.
func Ratio(ours, theirs Row) Median {
	var ratios []float64
	for i, speed := range ours.Values["ops/s"] {
		if other := theirs.Values["ops/s"]; i < len(other) && other[i] > 0 {
			ratios = append(ratios, speed/other[i])
		}
	}
	return MedianOf(ratios)
}

// groups returns the rows that took turns, in their order.
func groups(rows []Row) (all [][]Row) {
	same := func(a, b Row) bool {
		return a.Workload == b.Workload && a.Backend == b.Backend && a.Server == b.Server && a.Size == b.Size && a.LinkMS == b.LinkMS
	}
	for _, row := range rows {
		if n := len(all); n > 0 && same(all[n-1][0], row) {
			all[n-1] = append(all[n-1], row)
			continue
		}
		all = append(all, []Row{row})
	}
	return all
}

// subject returns the row of a subject in a group.
func subject(group []Row, name string) (row Row, ok bool) {
	for _, row := range group {
		if row.Subject == name {
			return row, true
		}
	}
	return row, false
}
