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
	series      []series
}

// colors are those of Okabe and Ito, which everybody can tell apart.
var colors = []color.RGBA{
	{0, 114, 178, 255}, {230, 159, 0, 255}, {0, 158, 115, 255}, {213, 94, 0, 255}, {86, 180, 233, 255},
	{204, 121, 167, 255}, {110, 110, 110, 255}, {130, 60, 100, 255},
}

const columns = 2

func init() { plot.DefaultFont.Variant = "Sans" }

// draw draws panels in rows of two.
func draw(panels []panel, start time.Time) ([]byte, error) {
	rows := (len(panels) + columns - 1) / columns
	canvas := vgsvg.New(9*vg.Inch, vg.Length(rows)*2.2*vg.Inch)
	all := gonum.New(canvas)
	all.SetColor(color.White) // A page may be dark.
	all.Fill(all.Rectangle.Path())
	tiles := gonum.Tiles{
		Rows: rows, Cols: columns, PadX: vg.Points(16), PadY: vg.Points(14),
		PadTop: vg.Points(8), PadBottom: vg.Points(8), PadLeft: vg.Points(8), PadRight: vg.Points(12),
	}
	for i, p := range panels {
		p.draw(tiles.At(all, i%columns, i/columns), start)
	}
	var out bytes.Buffer
	_, err := canvas.WriteTo(&out)
	// Not every machine has the font.
	return bytes.ReplaceAll(out.Bytes(), []byte("Liberation Sans"), []byte("Liberation Sans,Arial,sans-serif")), err
}

// draw draws the panel, with its legend to the right.
func (p panel) draw(canvas gonum.Canvas, start time.Time) {
	drawn, legend := plot.New(), plot.NewLegend()
	drawn.Title.Text, drawn.Title.Padding, drawn.Title.TextStyle.Font.Size = p.title, vg.Points(5), 10
	legend.Top, legend.Left, legend.Padding, legend.TextStyle.Font.Size = true, true, vg.Points(2), 8
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{225}, color.Gray{225}
	drawn.Add(grid)
	for i, s := range p.series {
		if len(s.points) == 0 {
			continue
		}
		style := gonum.LineStyle{Color: colors[i%len(colors)], Width: vg.Points(1.2)}
		line := &plotter.Line{XYs: since(s.points, start), LineStyle: style}
		drawn.Add(line)
		legend.Add(" "+s.name, line)
	}
	p.scale(drawn)
	width := legend.Rectangle(canvas).Size().X + vg.Points(8)
	drawn.Draw(gonum.Crop(canvas, 0, -width, 0, 0))
	legend.Draw(gonum.Crop(canvas, canvas.Rectangle.Size().X-width+vg.Points(8), 0, 0, -vg.Points(16)))
}

// since returns points in minutes since the start.
func since(points plotter.XYs, start time.Time) (moved plotter.XYs) {
	for _, p := range points {
		moved = append(moved, plotter.XY{X: (p.X - float64(start.Unix())) / 60, Y: p.Y})
	}
	return moved
}

// scale begins the values at 0, and labels them by the panel's unit.
func (p panel) scale(drawn *plot.Plot) {
	drawn.X.Min, drawn.Y.Min = 0, 0
	drawn.Y.Max = max(1.1*drawn.Y.Max, 0.001)
	if math.IsInf(drawn.X.Max, 0) || drawn.X.Max <= 0 {
		drawn.X.Max, drawn.Y.Max = 1, 1 // No line has a point.
	}
	for axis, format := range map[*plot.Axis]func(float64) string{
		&drawn.X: func(v float64) string { return short(v) + " min" }, &drawn.Y: p.value,
	} {
		axis.Tick.Label.Font.Size = 8
		axis.Tick.Marker = plot.TickerFunc(func(low, high float64) []plot.Tick {
			ticks := plot.DefaultTicks{}.Ticks(low, high)
			for i := range ticks {
				if ticks[i].Label != "" {
					ticks[i].Label = format(ticks[i].Value)
				}
			}
			return ticks
		})
	}
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
