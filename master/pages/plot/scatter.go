package plot

import "html/template"

// Mark is a trial that is drawn by itself, with a link.
type Mark struct {
	// Index is the position in the columns.
	Index int
	Text  string
	Link  string
}

// mark is a Mark with its place.
type mark struct {
	X, Y       float64
	Text, Link string
}

// Scatter draws y against x. Pairs without one of the values are left out.
func Scatter(title string, x, y Column, marks []Mark) template.HTML {
	xAxis, xs := x.scaled()
	yAxis, ys := y.scaled()
	f := newFrame(title, xAxis, yAxis)
	data := struct {
		frame

		Dots  string
		Marks []mark
	}{frame: f}
	marked := map[int]bool{}
	for _, m := range marks {
		at := place(f, xAxis, yAxis, xs[m.Index], ys[m.Index])
		if finite(at.X) && finite(at.Y) {
			marked[m.Index] = true
			at.Text, at.Link = m.Text, m.Link
			data.Marks = append(data.Marks, at)
		}
	}
	var dots path
	for i := range min(len(xs), len(ys)) {
		if at := place(f, xAxis, yAxis, xs[i], ys[i]); !marked[i] && finite(at.X) && finite(at.Y) {
			dots.dot(at.X, at.Y)
		}
	}
	data.Dots = dots.String()
	return render("scatter", data)
}

func place(f frame, x, y axis, xv, yv float64) mark {
	return mark{X: f.x(x.at(xv)), Y: f.y(y.at(yv))}
}
