package report

import (
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Plot draws pictures of the run, as SVG files in a folder: those for which it has figures of its first kind of server,
// without a delayed link.
func (r *Run) Plot(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // Anybody may read it.
		return err
	}
	for name, drawn := range map[string]struct {
		picture func() *picture
		height  vg.Length
	}{
		"drivers": {r.drivers, 230}, "hand_over": {r.handOver, 220}, "leases": {r.leases, 200}, "wake_up": {r.wakeUp, 200},
		"pairs": {r.pairs, 470}, "overload": {r.overload, 200},
	} {
		p := drawn.picture()
		if len(p.panels) == 0 {
			continue
		}
		text, err := p.svg(drawn.height)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name+".svg"), text, 0o644); err != nil { //nolint:gosec // As above.
			return err
		}
	}
	return nil
}

// drawn returns the rows of a workload, or of all if it is "", that pictures show.
func (r *Run) drawn(workload string) (rows []Row) {
	server := ""
	for _, row := range r.Rows {
		if row.Server != "none" && server == "" {
			server = row.Server
		}
		if (workload == "" || row.Workload == workload) && row.LinkMS == 0 && row.Server == server {
			rows = append(rows, row)
		}
	}
	return rows
}

// curves has a panel for each driver, and a curve in it for each subject.
func (r *Run) curves(workload string, points func(row Row) plotter.XYs) (all []curve) {
	for _, row := range r.drawn(workload) {
		all = append(all, curve{styleOf(row.Backend).title, row.Subject, points(row)})
	}
	return all
}

// median returns a point at the size of the row; none, if there is no figure.
func median(row Row, unit string) plotter.XYs {
	if n := MedianOf(row.Values[unit]).Center; n > 0 {
		return plotter.XYs{{X: float64(row.Size), Y: n}}
	}
	return nil
}

// sizes returns the sizes of a workload that pictures show.
func (r *Run) sizes(workload string) (all []float64) {
	for _, row := range r.drawn(workload) {
		all = append(all, float64(row.Size))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// drivers has how many pairs of a lock each driver and library makes.
func (r *Run) drivers() *picture {
	var all []bar
	for _, row := range r.drawn("lock_pair") {
		all = append(all, bar{goroutines(row.Size), styleOf(row.Backend).title, row.Subject, MedianOf(row.Values["ops/s"]).Center})
	}
	return bars(all, "Pairs of acquire and release a second")
}

func goroutines(n int) string {
	if n == 1 {
		return "1 goroutine"
	}
	return fmt.Sprintf("%d goroutines", n)
}

// pairs has each primitive's calls to those of the bare driver.
func (r *Run) pairs() *picture {
	var all []bar
	for _, group := range groups(r.drawn("")) {
		ours, ok := subject(group, "hasp")
		bare, both := subject(group, "bare")
		if !ok || !both || slices.Contains([]string{"overload", "rate", "three_rates"}, ours.Workload) {
			continue
		}
		name := strings.ReplaceAll(strings.TrimSuffix(ours.Workload, "_pair"), "_", " ")
		all = append(all, bar{goroutines(ours.Size), name, ours.Backend, Ratio(ours, bare).Center})
	}
	p := bars(all, "Calls a second, to those of the same scripts sent by the bare driver")
	for _, panel := range p.panels {
		even := draw.LineStyle{Color: color.Gray{120}, Width: vg.Points(0.5)}
		panel.Add(&plotter.Line{XYs: plotter.XYs{{X: 1, Y: panel.Y.Min}, {X: 1, Y: panel.Y.Max}}, LineStyle: even})
	}
	return p
}

// handOver has how often a lock changes hands, by the number of clients.
func (r *Run) handOver() *picture {
	p := lines(r.curves("hand_over", func(row Row) plotter.XYs { return median(row, "ops/s") }),
		"Hand-overs of one lock a second", "clients that compete")
	alike(p.panels)
	for _, panel := range p.panels {
		at(&panel.X, r.sizes("hand_over")...)
		decades(&panel.Y)
	}
	return p
}

// wakeUp has how long a waiter takes after a release, by percentiles.
func (r *Run) wakeUp() *picture {
	p := lines(r.curves("wake_up", func(row Row) (points plotter.XYs) {
		for _, percent := range Percentiles {
			if us := MedianOf(row.Values[Percentile(percent)]).Center; us > 0 {
				points = append(points, plotter.XY{X: us / 1e3, Y: float64(percent)})
			}
		}
		return points
	}), "From a release to the grant of a waiter: percent of hand-overs that take no longer", "milliseconds")
	alike(p.panels)
	for _, panel := range p.panels {
		decades(&panel.X)
		panel.Y.Min, panel.Y.Max = 0, 100
	}
	return p
}

// overload has which share of what can be done is granted in time.
func (r *Run) overload() *picture {
	p := lines(r.curves("overload", func(row Row) plotter.XYs {
		return plotter.XYs{{X: float64(row.Size), Y: MedianOf(row.Values["granted-share"]).Center}} // Perhaps 0.
	}), "Pairs granted within 100 ms, as a share of the capacity", "calls, percent of the capacity")
	alike(p.panels)
	for _, panel := range p.panels {
		panel.Y.Min, panel.Y.Max = 0, 1.1*panel.Y.Max
	}
	return p
}

// leases has what held leases cost, by their number: a panel for each figure, with a curve for each driver.
func (r *Run) leases() *picture {
	var all []curve
	for _, figure := range [][2]string{
		{"client, % of a core", "client-cpu%"}, {"server, % of a core", "server-cpu%"}, {"bytes per lease", "B/lease"},
	} {
		for _, row := range r.drawn("leases") {
			all = append(all, curve{figure[0], row.Backend, median(row, figure[1])})
		}
	}
	p := lines(all, "What held leases cost", "leases that one client holds")
	last := max(0, len(p.panels)-1) // It has another unit.
	alike(p.panels[:last])
	for i, panel := range p.panels {
		at(&panel.X, r.sizes("leases")...)
		if i == last {
			panel.Y.Min, panel.Y.Max, panel.Y.Tick.Marker = 0, 1.1*panel.Y.Max, plot.TickerFunc(thousands)
			continue
		}
		decades(&panel.Y)
	}
	return p
}
