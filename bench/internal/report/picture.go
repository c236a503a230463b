package report

import (
	"bytes"
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// picture has panels side by side, and one legend to their right. Its title says what the curves or bars are, and its
// foot, if there is any, what the panels show to the right.
type picture struct {
	title, foot string

	panels []*plot.Plot
	titles []string
	names  []string // of the legend
	legend plot.Legend
}

func init() { plot.DefaultFont.Variant = "Sans" }

// curve is a line of points in a panel.
type curve struct {
	panel, name string
	points      plotter.XYs
}

// style is the color and the shape of a name of a legend, the same in each picture.
type style struct {
	title string
	color color.RGBA
	shape draw.GlyphDrawer
}

// styles has colors that are distinguishable for everybody, nearly all of Okabe and Ito.
var styles = map[string]style{
	"Mutex":       {"Mutex", color.RGBA{0, 114, 178, 255}, draw.CircleGlyph{}},
	"Lock":        {"Lock", color.RGBA{0, 158, 115, 255}, draw.BoxGlyph{}},
	"FairLock":    {"FairLock", color.RGBA{86, 180, 233, 255}, draw.PyramidGlyph{}},
	"redsync":     {"redsync", color.RGBA{230, 159, 0, 255}, draw.CrossGlyph{}},
	"redislock":   {"redislock", color.RGBA{213, 94, 0, 255}, draw.PlusGlyph{}},
	"rueidislock": {"rueidislock", color.RGBA{204, 121, 167, 255}, draw.RingGlyph{}},
	"valkeylock":  {"valkeylock", color.RGBA{130, 60, 100, 255}, draw.SquareGlyph{}},
	"redisson":    {"Redisson", color.RGBA{60, 60, 60, 255}, draw.TriangleGlyph{}},
	"hasp":        {"hasp", color.RGBA{0, 114, 178, 255}, draw.CircleGlyph{}},
	"bare":        {"bare driver", color.RGBA{150, 150, 150, 255}, draw.BoxGlyph{}},
	"setnx":       {"SET NX", color.RGBA{205, 205, 205, 255}, draw.CrossGlyph{}},
	"rueidis":     {"rueidis", color.RGBA{0, 114, 178, 255}, draw.CircleGlyph{}},
	"valkey":      {"valkey-go", color.RGBA{0, 158, 115, 255}, draw.BoxGlyph{}},
	"goredis":     {"go-redis", color.RGBA{230, 159, 0, 255}, draw.PyramidGlyph{}},
}

// styleOf returns the style of a name; gray, if it has none.
func styleOf(name string) style {
	if s, ok := styles[name]; ok {
		return s
	}
	return style{name, color.RGBA{100, 100, 100, 255}, draw.RingGlyph{}}
}

// panel returns the panel with a title. The first call makes it.
func (p *picture) panel(title string) *plot.Plot {
	if i := slices.Index(p.titles, title); i >= 0 {
		return p.panels[i]
	}
	panel := plot.New()
	panel.Title.Text, panel.Title.Padding, panel.Title.TextStyle.Font.Size = title, vg.Points(6), 10
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{215}, color.Gray{215}
	panel.Add(grid)
	p.titles, p.panels = append(p.titles, title), append(p.panels, panel)
	return panel
}

// explain adds a name to the legend once.
func (p *picture) explain(name string, thumbs ...plot.Thumbnailer) {
	if p.names == nil {
		p.legend = plot.NewLegend()
		p.legend.Top, p.legend.Left, p.legend.Padding, p.legend.TextStyle.Font.Size = true, true, vg.Points(3), 10
	}
	if !slices.Contains(p.names, name) {
		p.names = append(p.names, name)
		p.legend.Add(" "+styleOf(name).title, thumbs...)
	}
}

// lines returns a picture of curves. Curves of one name in one panel are one line.
func lines(curves []curve, title, foot string) *picture {
	p := &picture{title: title, foot: foot}
	for i, c := range curves {
		for _, more := range curves[i+1:] {
			if more.panel == c.panel && more.name == c.name {
				c.points = append(c.points, more.points...)
			}
		}
		drawn := slices.ContainsFunc(curves[:i], func(before curve) bool { return before.panel == c.panel && before.name == c.name })
		if drawn || len(c.points) == 0 {
			continue
		}
		p.line(p.panel(c.panel), c)
	}
	return p
}

// line draws a curve, in the order of x, then y.
func (p *picture) line(panel *plot.Plot, c curve) {
	slices.SortFunc(c.points, func(a, b plotter.XY) int { return cmp.Or(cmp.Compare(a.X, b.X), cmp.Compare(a.Y, b.Y)) })
	s := styleOf(c.name)
	line := &plotter.Line{XYs: c.points, LineStyle: draw.LineStyle{Color: s.color, Width: vg.Points(1.5)}}
	points := &plotter.Scatter{XYs: c.points, GlyphStyle: draw.GlyphStyle{Color: s.color, Radius: vg.Points(3), Shape: s.shape}}
	panel.Add(line, points)
	p.explain(c.name, line, points)
}

// alike gives panels the same axes.
func alike(panels []*plot.Plot) {
	for _, axis := range []func(*plot.Plot) *plot.Axis{
		func(panel *plot.Plot) *plot.Axis { return &panel.X }, func(panel *plot.Plot) *plot.Axis { return &panel.Y },
	} {
		low, high := math.Inf(1), math.Inf(-1)
		for _, panel := range panels {
			low, high = min(low, axis(panel).Min), max(high, axis(panel).Max)
		}
		for _, panel := range panels {
			axis(panel).Min, axis(panel).Max = low, high
		}
	}
}

// decades gives an axis a logarithmic scale of whole decades.
func decades(axis *plot.Axis) {
	low, high := math.Floor(math.Log10(axis.Min)), math.Ceil(math.Log10(axis.Max))
	axis.Min, axis.Max, axis.Scale = math.Pow(10, low), math.Pow(10, max(high, low+1)), plot.LogScale{}
	axis.Tick.Marker = plot.TickerFunc(func(low, high float64) (ticks []plot.Tick) {
		for at := low; at < high*1.1; at *= 10 {
			ticks = append(ticks, plot.Tick{Value: at, Label: short(at)})
		}
		return ticks
	})
}

// at puts ticks of a logarithmic scale at some values.
func at(axis *plot.Axis, values ...float64) {
	var ticks []plot.Tick
	for _, value := range values {
		ticks = append(ticks, plot.Tick{Value: value, Label: short(value)})
	}
	axis.Scale, axis.Tick.Marker = plot.LogScale{}, plot.ConstantTicks(ticks)
	axis.Min, axis.Max = slices.Min(values)/1.2, slices.Max(values)*1.2
}

// short returns 20000 as "20k".
func short(n float64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.3gM", n/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.3gk", n/1e3)
	}
	return strconv.FormatFloat(math.Round(n*100)/100, 'g', -1, 64)
}

// bar is one of a group of bars in a panel.
type bar struct {
	panel, group, name string
	length             float64
}

// bars returns a picture of horizontal bars, from zero to the right. The groups stand one above the other.
func bars(all []bar, title string) *picture {
	p := &picture{title: title}
	places := map[string]map[string][]float64{} // of the bars of a group, by panel
	for _, b := range all {
		if places[b.panel] == nil {
			places[b.panel] = map[string][]float64{}
		}
		y := 0.0
		for _, group := range places[b.panel] {
			y -= float64(len(group)) + 1
		}
		if places[b.panel][b.group] == nil {
			y--
		}
		places[b.panel][b.group] = append(places[b.panel][b.group], y)
		p.bar(b, y)
	}
	for i, panel := range p.panels {
		named(&panel.Y, places[p.titles[i]], i == 0)
		panel.X.Tick.Marker, panel.X.Min = plot.TickerFunc(thousands), 0
		panel.X.Max *= 1.2 // For the figures.
	}
	return p
}

// bar draws a bar at a height, and its figure at the end.
func (p *picture) bar(b bar, y float64) {
	panel := p.panel(b.panel)
	shape := &plotter.Polygon{Color: styleOf(b.name).color, XYs: []plotter.XYs{{
		{X: 0, Y: y - 0.45}, {X: b.length, Y: y - 0.45}, {X: b.length, Y: y + 0.45}, {X: 0, Y: y + 0.45},
	}}}
	text := panel.X.Tick.Label
	text.Font.Size, text.XAlign, text.YAlign = 7, draw.XLeft, draw.YCenter
	panel.Add(shape, &plotter.Labels{
		XYs: plotter.XYs{{X: b.length, Y: y}}, Labels: []string{short(b.length)}, TextStyle: []draw.TextStyle{text},
		Offset: vg.Point{X: vg.Points(3)},
	})
	p.explain(b.name, shape)
}

// named labels each group at its middle; only a grid line, if there are to be no labels.
func named(axis *plot.Axis, groups map[string][]float64, labels bool) {
	var ticks []plot.Tick
	for name, places := range groups {
		if !labels {
			name = " "
		}
		ticks = append(ticks, plot.Tick{Value: (places[0] + places[len(places)-1]) / 2, Label: name})
	}
	slices.SortFunc(ticks, func(a, b plot.Tick) int { return cmp.Compare(a.Value, b.Value) })
	axis.Tick.Marker, axis.Tick.Length = plot.ConstantTicks(ticks), 0
}

// thousands has the usual ticks with short labels.
func thousands(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i := range ticks {
		if ticks[i].Label != "" {
			ticks[i].Label = short(ticks[i].Value)
		}
	}
	return ticks
}

// svg draws the picture.
func (p *picture) svg(height vg.Length) ([]byte, error) {
	canvas := vgsvg.New(7*vg.Inch, height)
	all := draw.New(canvas)
	all.SetColor(color.White) // A page may be dark.
	all.Fill(all.Rectangle.Path())
	inner := draw.Crop(all, vg.Points(6), vg.Points(-8), vg.Points(6), vg.Points(-6))
	text := p.panels[0].Title.TextStyle
	text.XAlign, text.YAlign, text.Font.Size = draw.XLeft, draw.YTop, 11
	inner.FillText(text, vg.Point{X: inner.Min.X, Y: inner.Max.Y}, p.title)
	text.XAlign, text.YAlign, text.Font.Size = draw.XCenter, draw.YBottom, 10
	width := p.legend.Rectangle(inner).Size().X + vg.Points(12)
	inner.FillText(text, vg.Point{X: (inner.Min.X + inner.Max.X - width) / 2, Y: inner.Min.Y}, p.foot)
	panels := draw.Crop(inner, 0, -width, vg.Points(4)+text.Height(p.foot), vg.Points(-20))
	tiles := draw.Tiles{Rows: 1, Cols: len(p.panels), PadX: vg.Points(8)}
	for i, place := range plot.Align([][]*plot.Plot{p.panels}, tiles, panels)[0] {
		p.panels[i].Draw(place)
	}
	p.legend.Draw(draw.Crop(inner, panels.Size().X+vg.Points(12), 0, 0, vg.Points(-40)))
	var out bytes.Buffer
	_, err := canvas.WriteTo(&out)
	// Not every machine has the font.
	return bytes.ReplaceAll(out.Bytes(), []byte("Liberation Sans"), []byte("Liberation Sans,Arial,sans-serif")), err
}
