package report

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"github.com/hasp-go/hasp/bench/internal/measure"
)

// Plot draws what was measured, as SVG files in a folder: what of these the run has.
func (r *Run) Plot(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // Anybody may read it.
		return err
	}
	for name, draw := range map[string]func() (*plot.Plot, error){
		"hand_over.svg": r.handOver, "wake_up.svg": r.wakeUp, "pairs.svg": r.pairs, "overload.svg": r.overload,
	} {
		p, err := draw()
		if err != nil {
			return err
		}
		if p == nil {
			continue
		}
		p.Legend.Top = true
		if err := p.Save(7*vg.Inch, 4*vg.Inch, filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	return nil
}

// lines are points by the name of their line, in the order of the names.
type lines struct {
	names  []string
	points map[string]plotter.XYs
}

func (l *lines) add(name string, x, y float64) {
	if l.points == nil {
		l.points = map[string]plotter.XYs{}
	}
	if !slices.Contains(l.names, name) {
		l.names = append(l.names, name)
	}
	l.points[name] = append(l.points[name], plotter.XY{X: x, Y: y})
}

// on draws the lines; nothing, if there are none.
func (l *lines) on(title, x, y string) (*plot.Plot, error) {
	if len(l.names) == 0 {
		return nil, nil //nolint:nilnil // There is nothing to draw.
	}
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Add(plotter.NewGrid())
	var drawn []any
	for _, name := range l.names {
		slices.SortFunc(l.points[name], func(a, b plotter.XY) int {
			return cmp.Or(cmp.Compare(a.X, b.X), cmp.Compare(a.Y, b.Y))
		})
		drawn = append(drawn, name, l.points[name])
	}
	return p, plotutil.AddLinePoints(p, drawn...)
}

// logarithmic gives axes a logarithmic scale.
func logarithmic(axes ...*plot.Axis) {
	for _, axis := range axes {
		axis.Scale, axis.Tick.Marker = plot.LogScale{}, plot.LogTicks{}
	}
}

// each calls f for the rows of a workload, each with the name of its line.
func (r *Run) each(workload string, f func(row measure.Row, name string)) {
	backends := map[string]bool{}
	for _, row := range r.Rows {
		if row.Workload == workload {
			backends[row.Backend] = true
		}
	}
	for _, row := range r.Rows {
		if row.Workload != workload || row.LinkMS != 0 {
			continue
		}
		name := row.Subject
		if len(backends) > 1 {
			name += ", " + row.Backend
		}
		f(row, name)
	}
}

// handOver is what a hand-over costs, by the number of clients.
func (r *Run) handOver() (*plot.Plot, error) {
	var l lines
	r.each("hand_over", func(row measure.Row, name string) {
		if speed := MedianOf(row.Values["ops/s"]).Center; speed > 0 {
			l.add(name, float64(row.Size), 1e6/speed)
		}
	})
	p, err := l.on("Hand-over of one lock", "clients", "microseconds")
	if p != nil {
		logarithmic(&p.X, &p.Y)
		p.Legend.Left = true
	}
	return p, err
}

// wakeUp is how long a waiter takes after a release, by percentiles.
func (r *Run) wakeUp() (*plot.Plot, error) {
	var l lines
	r.each("wake_up", func(row measure.Row, name string) {
		for _, percent := range measure.Percentiles {
			l.add(name, MedianOf(row.Values[measure.Percentile(percent)]).Center, float64(percent))
		}
	})
	p, err := l.on("From a release to the next holder", "microseconds", "percent of hand-overs")
	if p != nil {
		logarithmic(&p.X)
		p.Legend.Top = false
	}
	return p, err
}

// overload is which share of what can be done is granted in time.
func (r *Run) overload() (*plot.Plot, error) {
	var l lines
	r.each("overload", func(row measure.Row, name string) {
		l.add(name, float64(row.Size), MedianOf(row.Values["granted-share"]).Center)
	})
	p, err := l.on("Lock pairs under load", "percent of what can be done that is asked for", "share granted in time")
	if p != nil {
		p.Y.Min = 0
	}
	return p, err
}

// pairs has the drivers side by side: each primitive's pair against the bare commands, at one size.
func (r *Run) pairs() (*plot.Plot, error) {
	const size, width = 64, 12
	ratios := map[string]map[string]float64{} // by backend and workload
	var backends, workloads []string
	for _, group := range groups(r.Rows) {
		ours, ok := subject(group, "hasp")
		bare, both := subject(group, "bare")
		if !ok || !both || ours.Size != size || ours.LinkMS != 0 || ours.Workload == "overload" {
			continue
		}
		if ratios[ours.Backend] == nil {
			ratios[ours.Backend] = map[string]float64{}
			backends = append(backends, ours.Backend)
		}
		if !slices.Contains(workloads, ours.Workload) {
			workloads = append(workloads, ours.Workload)
		}
		ratios[ours.Backend][ours.Workload] = Ratio(ours, bare).Center
	}
	if len(backends) == 0 {
		return nil, nil //nolint:nilnil // There is nothing to draw.
	}
	p := plot.New()
	p.Title.Text, p.Y.Label.Text, p.Y.Min = "Calls per second to those of the bare commands, 64 goroutines", "ratio", 0
	for i, backend := range backends {
		values := make(plotter.Values, len(workloads))
		for n, workload := range workloads {
			values[n] = ratios[backend][workload]
		}
		bars, err := plotter.NewBarChart(values, vg.Points(width))
		if err != nil {
			return nil, err
		}
		bars.Color, bars.Offset = plotutil.Color(i), vg.Points(width*(float64(i)-float64(len(backends)-1)/2))
		p.Add(bars)
		p.Legend.Add(backend, bars)
	}
	for i := range workloads {
		workloads[i] = strings.ReplaceAll(strings.TrimSuffix(workloads[i], "_pair"), "_", " ")
	}
	p.NominalX(workloads...)
	return p, nil
}
