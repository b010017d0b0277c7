// Package plot draws plots as SVG: curves, values against a parameter, and parallel coordinates. The
// drawings are pure functions of the data. Their colours come from the style sheet of the page.
package plot

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
)

//go:embed plot.svg.html
var source string

// templates are parsed once and never changed.
var templates = template.Must(template.New("plot").Parse(source))

// The size of a plot in its own units. It scales to the width of the page.
const (
	width  = 640.0
	height = 280.0
	left   = 64.0
	right  = 16.0
	top    = 12.0
	bottom = 44.0
)

// tick is a mark of an axis.
type tick struct {
	At   float64
	Text string
}

// wide is the width of parallel coordinates.
const wide = 960.0

// frame is what all plots with two axes have.
type frame struct {
	// Wide is set for a plot of the whole page.
	Wide                   bool
	Title, X, Y            string
	Width, Height          float64
	Left, Right, Top, Base float64
	XTicks, YTicks         []tick
}

func newFrame(title string, x, y axis) frame {
	f := frame{Title: title, X: x.name, Y: y.name, Width: width, Height: height, Left: left, Right: width - right, Top: top, Base: height - bottom}
	for _, t := range x.ticks(8) {
		f.XTicks = append(f.XTicks, tick{f.x(t.At), t.Text})
	}
	for _, t := range y.ticks(6) {
		f.YTicks = append(f.YTicks, tick{f.y(t.At), t.Text})
	}
	return f
}

// x and y convert a position on an axis, from 0 to 1, to units of the drawing.
func (f frame) x(at float64) float64 { return f.Left + at*(f.Right-f.Left) }
func (f frame) y(at float64) float64 { return f.Base - at*(f.Base-f.Top) }

// Middle is the middle of the horizontal axis.
func (f frame) Middle() float64 { return (f.Left + f.Right) / 2 }

// Center is the middle of the vertical axis.
func (f frame) Center() float64 { return (f.Top + f.Base) / 2 }

// render executes a template, which escapes all texts.
func render(name string, data any) template.HTML {
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, name, data); err != nil {
		return template.HTML("<p>" + template.HTMLEscapeString(fmt.Sprintf("This plot cannot be drawn: %v", err)) + "</p>") //nolint:gosec // it is escaped
	}
	return template.HTML(out.String()) //nolint:gosec // html/template has escaped it
}

// path builds the path of an SVG in whole units, so that a thousand trials need little space.
type path struct{ strings.Builder }

func (p *path) add(command byte, x, y float64) {
	p.WriteByte(command)
	p.WriteString(strconv.Itoa(int(math.Round(x))))
	p.WriteByte(' ')
	p.WriteString(strconv.Itoa(int(math.Round(y))))
}

// dot adds a point, which the round ends of lines make visible.
func (p *path) dot(x, y float64) {
	p.add('M', x, y)
	p.WriteString("h0")
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
