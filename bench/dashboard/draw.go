package main

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	gonum "gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// panel is a panel with its answers.
type panel struct {
	title, unit string
	log         bool // its scale is logarithmic
	series      []series
}

// colors are those of Okabe and Ito, which everybody can distinguish.
var colors = []color.RGBA{
	{0, 114, 178, 255}, {230, 159, 0, 255}, {0, 158, 115, 255}, {213, 94, 0, 255}, {86, 180, 233, 255},
	{204, 121, 167, 255}, {110, 110, 110, 255}, {130, 60, 100, 255},
}

// The width of a legend is the same in all panels, so their axes are, too.
const (
	columns = 2
	legends = 125
)

func init() { plot.DefaultFont.Variant = "Sans" }

// draw draws panels in rows of two.
func draw(panels []panel, start, end time.Time) ([]byte, error) {
	rows := (len(panels) + columns - 1) / columns
	canvas := vgsvg.New(9*vg.Inch, vg.Length(rows)*2*vg.Inch)
	all := gonum.New(canvas)
	all.SetColor(color.White) // A page may be dark.
	all.Fill(all.Rectangle.Path())
	tiles := gonum.Tiles{
		Rows: rows, Cols: columns, PadX: vg.Points(16), PadY: vg.Points(14),
		PadTop: vg.Points(8), PadBottom: vg.Points(8), PadLeft: vg.Points(8), PadRight: vg.Points(12),
	}
	for i, p := range panels {
		p.draw(tiles.At(all, i%columns, i/columns), start, end)
	}
	var out bytes.Buffer
	_, err := canvas.WriteTo(&out)
	// Not every machine has the font.
	return bytes.ReplaceAll(out.Bytes(), []byte("Liberation Sans"), []byte("Liberation Sans,Arial,sans-serif")), err
}

// draw draws the panel, with its legend to the right.
func (p panel) draw(canvas gonum.Canvas, start, end time.Time) {
	drawn, legend := plot.New(), plot.NewLegend()
	drawn.Title.Text, drawn.Title.Padding, drawn.Title.TextStyle.Font.Size = p.title, vg.Points(5), 10
	legend.Top, legend.Left, legend.Padding, legend.TextStyle.Font.Size = true, true, vg.Points(2), 7.5
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{225}, color.Gray{225}
	drawn.Add(grid)
	for i, s := range p.series {
		points := p.shown(s.points, start)
		if len(points) == 0 {
			continue
		}
		style := gonum.LineStyle{Color: colors[i%len(colors)], Width: vg.Points(1.2)}
		line := &plotter.Line{XYs: points, LineStyle: style}
		drawn.Add(line)
		legend.Add(" "+s.name, line)
	}
	drawn.X.Min, drawn.X.Max = 0, end.Sub(start).Minutes()
	p.scale(drawn)
	drawn.Draw(gonum.Crop(canvas, 0, -vg.Points(legends), 0, 0))
	width := canvas.Rectangle.Size().X
	legend.Draw(gonum.Crop(canvas, width-vg.Points(legends-6), 0, 0, -vg.Points(16)))
}

// shown returns points in minutes since the start, without those that a logarithmic scale lacks.
func (p panel) shown(points plotter.XYs, start time.Time) (shown plotter.XYs) {
	for _, point := range points {
		if !p.log || point.Y > 0 {
			shown = append(shown, plotter.XY{X: (point.X - float64(start.Unix())) / 60, Y: point.Y})
		}
	}
	return shown
}

// scale chooses the ranges of the axes, and labels them by the panel's unit.
func (p panel) scale(drawn *plot.Plot) {
	label(&drawn.X, func(v float64) string { return short(v) + " min" }, plot.DefaultTicks{})
	if math.IsInf(drawn.Y.Max, 0) {
		drawn.Y.Min, drawn.Y.Max = 0.1, 1 // No line has a point.
	}
	if p.log {
		drawn.Y.Min = math.Pow(10, math.Floor(math.Log10(drawn.Y.Min)))
		drawn.Y.Max = max(math.Pow(10, math.Ceil(math.Log10(drawn.Y.Max))), 10*drawn.Y.Min)
		drawn.Y.Scale = plot.LogScale{}
		label(&drawn.Y, p.value, plot.LogTicks{Prec: -1})
		return
	}
	least := 0.001
	if p.unit == "short" {
		least = 1
	}
	drawn.Y.Min, drawn.Y.Max = 0, max(1.1*drawn.Y.Max, least)
	label(&drawn.Y, p.value, plot.DefaultTicks{})
}

// label labels the main ticks of an axis.
func label(axis *plot.Axis, format func(float64) string, ticker plot.Ticker) {
	axis.Tick.Label.Font.Size = 8
	axis.Tick.Marker = plot.TickerFunc(func(low, high float64) []plot.Tick {
		ticks := ticker.Ticks(low, high)
		for i := range ticks {
			if ticks[i].Label != "" {
				ticks[i].Label = format(ticks[i].Value)
			}
		}
		return ticks
	})
}

// value returns a value with the unit that Grafana's name of it means.
func (p panel) value(v float64) string {
	switch {
	case p.unit == "s" && v > 0 && v < 1:
		return short(1000*v) + " ms"
	case p.unit == "s":
		return short(v) + " s"
	case p.unit == "ops":
		return short(v) + "/s"
	case p.unit == "percentunit":
		return fmt.Sprintf("%.0f %%", 100*v)
	}
	return short(v)
}

func short(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
