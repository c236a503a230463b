// Package measure lets subjects take turns at the same work, and notes what each turn came to.
package measure

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"
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
		for _, percent := range Percentiles {
			all[Percentile(percent)] = micros(o.Waits[n*percent/100])
		}
		all["longest-ms"] = micros(o.Waits[n-1]) / 1e3
	}
	if len(o.Served) > 0 {
		all["least"], all["most"] = float64(slices.Min(o.Served)), float64(slices.Max(o.Served))
	}
	return all
}

// Percentiles of waits are noted, by the units that Percentile returns.
var Percentiles = []int{10, 25, 50, 75, 90, 99}

// Percentile returns the unit of a percentile of the waits.
func Percentile(percent int) string { return fmt.Sprintf("p%d-us", percent) }

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// Row is what one subject's turns came to. A subject of each row of a group had the same number of turns,
// and the turns of one index followed each other.
type Row struct {
	Workload string  `json:"workload"`
	Subject  string  `json:"subject"`
	Backend  string  `json:"backend"`
	Server   string  `json:"server"`
	Size     int     `json:"size"`    // goroutines, clients, permits, waiters or leases: the workload says which
	LinkMS   float64 `json:"link_ms"` // of delay, in each direction

	// Values has one value a turn, by unit.
	Values map[string][]float64 `json:"values"`
}

// Group are subjects that take turns on one server.
type Group struct {
	Row      // but for the subject and the values
	Subjects []Subject
	Meter    Meter
}

// Run runs so many rounds, after one that warms up. Each subject has a turn in each, in another order.
func (g *Group) Run(ctx context.Context, rounds int) ([]Row, error) {
	rows := make([]Row, len(g.Subjects))
	for i, s := range g.Subjects {
		rows[i] = g.Row
		rows[i].Subject, rows[i].Values = s.Name, map[string][]float64{}
	}
	for round := range rounds + 1 {
		for i := range g.Subjects {
			i = (i + round) % len(g.Subjects)
			figures, err := g.turn(ctx, g.Subjects[i])
			if err != nil {
				return nil, fmt.Errorf("%s of %s: %w", g.Workload, g.Subjects[i].Name, err)
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

func (g *Group) turn(ctx context.Context, s Subject) (map[string]float64, error) {
	if s.Before != nil {
		if err := s.Before(ctx); err != nil {
			return nil, err
		}
	}
	runtime.GC()
	before, err := g.Meter.read()
	if err != nil {
		return nil, err
	}
	o, err := s.Turn(ctx)
	if err != nil {
		return nil, err
	}
	after, err := g.Meter.read()
	return g.Meter.figures(before, after, o), err
}
