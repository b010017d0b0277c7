package plot

import (
	"html/template"
	"math"
)

// Curve is the values of a metric by step.
type Curve struct {
	Name string
	// Other marks a curve that is drawn in grey below the others.
	Other bool
	X, Y  []float64
}

// colours are those of curves. They are readable on light and dark pages.
var colours = []string{"#3b82d8", "#d6549a", "#2f9e4f", "#b8801a", "#9566e0", "#e05252"}

// drawn is a curve as it is drawn.
type drawn struct {
	Name, Path, Lost string
	Class, Colour    string
}

// Curves draws curves by step. A value that is not a number interrupts its curve and is marked at the upper edge.
func Curves(title, x, y string, curves []Curve, log bool) template.HTML {
	var xs, ys []float64
	for _, c := range curves {
		xs, ys = append(xs, c.X...), append(ys, c.Y...)
	}
	xAxis, yAxis := newAxis(x, xs, false), newAxis(y, ys, log)
	data := struct {
		frame

		Curves []drawn
	}{frame: newFrame(title, xAxis, yAxis)}
	colour := 0 // the next one
	for _, others := range []bool{true, false} {
		for _, c := range curves {
			if c.Other != others {
				continue
			}
			d := data.draw(c, xAxis, yAxis)
			if d.Class, d.Colour = "other", "#8886"; !others {
				d.Class, d.Colour = "best", colours[colour%len(colours)]
				colour++
			}
			data.Curves = append(data.Curves, d)
		}
	}
	return render("curves", data)
}

func (f frame) draw(c Curve, x, y axis) drawn {
	var p, lost path
	command := byte('M')
	for i := range min(len(c.X), len(c.Y)) {
		at := place(f, x, y, c.X[i], c.Y[i])
		switch {
		case !finite(at.Y):
			if math.IsNaN(c.Y[i]) || math.IsInf(c.Y[i], 0) {
				lost.dot(at.X, f.Top)
			}
			command = 'M'
			continue
		case command == 'M':
			p.dot(at.X, at.Y)
		default:
			p.add('L', at.X, at.Y)
		}
		command = 'L'
	}
	return drawn{Name: c.Name, Path: p.String(), Lost: lost.String()}
}
