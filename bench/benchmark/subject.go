package benchmark

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/hasp-go/hasp/bench/internal/report"
)

// Subject is one of those that are compared.
type Subject struct {
	Name   string
	Before func(ctx context.Context) error // prepares each turn, and is not measured; nil: nothing to prepare
	Turn   Turn
}

// Turn does a bounded amount of work.
type Turn func(ctx context.Context) (Outcome, error)

// Outcome is what a turn has done.
type Outcome struct {
	Ops    int
	Took   time.Duration      // 0: for as long as the turn
	Waits  []time.Duration    // of operations, where the work is to wait, or the percentiles from 0 to 100
	Served []int              // operations of each client, where they compete
	Other  map[string]float64 // figures of this work alone, by unit

	// Elsewhere says that another process did the work, and for how long it used processors. The time of this process
	// is not noted then.
	Elsewhere bool
	Processor time.Duration
}

// waits returns figures of the waits and of the shares.
func (o *Outcome) waits() map[string]float64 {
	all := map[string]float64{}
	if n := len(o.Waits); n > 0 {
		slices.Sort(o.Waits)
		for _, percent := range report.Percentiles {
			all[report.Percentile(percent)] = micros(o.Waits[n*percent/100])
		}
		all["longest-ms"] = micros(o.Waits[n-1]) / 1e3
	}
	if len(o.Served) > 0 {
		all["least"], all["most"] = float64(slices.Min(o.Served)), float64(slices.Max(o.Served))
	}
	return all
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// group are subjects that take turns on one server.
type group struct {
	report.Row // but for the subject and the values
	subjects   []Subject
	meter      meter
}

// run runs the given number of rounds, after a round that warms up. In each round each subject has one turn; the order
// of the subjects changes from round to round.
func (g *group) run(ctx context.Context, rounds int) ([]report.Row, error) {
	rows := make([]report.Row, len(g.subjects))
	for i, s := range g.subjects {
		rows[i] = g.Row
		rows[i].Subject, rows[i].Values = s.Name, map[string][]float64{}
	}
	for round := range rounds + 1 {
		for i := range g.subjects {
			i = (i + round) % len(g.subjects)
			figures, err := g.turn(ctx, g.subjects[i])
			if err != nil {
				return nil, fmt.Errorf("%s of %s: %w", g.Workload, g.subjects[i].Name, err)
			}
			for unit, value := range figures {
				if round > 0 {
					rows[i].Values[unit] = append(rows[i].Values[unit], value)
				}
			}
		}
	}
	return rows, nil
}

func (g *group) turn(ctx context.Context, s Subject) (map[string]float64, error) {
	if s.Before != nil {
		if err := s.Before(ctx); err != nil {
			return nil, err
		}
	}
	runtime.GC()
	before, err := g.meter.read()
	if err != nil {
		return nil, err
	}
	o, err := s.Turn(ctx)
	if err != nil {
		return nil, err
	}
	after, err := g.meter.read()
	return g.meter.figures(before, after, o), err
}
