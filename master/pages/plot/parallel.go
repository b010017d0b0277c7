package plot

import "html/template"

// vertical is an axis of parallel coordinates.
type vertical struct {
	X     float64
	Name  string
	Ticks []tick
}

// line is one trial of parallel coordinates.
type line struct{ Path, Text, Link string }

// Parallel draws one line for each trial through its value on the axis of each column. Lines of marks are drawn
// over the others. A line is interrupted where a trial has no value.
func Parallel(title string, columns []Column, marks []Mark) template.HTML {
	data := struct {
		frame

		Axes   []vertical
		Others string
		Marks  []line
	}{frame: frame{Title: title, Wide: true, Width: wide, Height: height, Left: 40, Right: wide - 60, Top: 28, Base: height - 14}}
	if len(columns) < 2 {
		return ""
	}
	axes := make([]axis, len(columns))
	values := make([][]float64, len(columns))
	for i, c := range columns {
		axes[i], values[i] = c.scaled()
		v := vertical{X: data.x(float64(i) / float64(len(columns)-1)), Name: cut(axes[i].name)}
		for _, t := range axes[i].ticks(5) {
			v.Ticks = append(v.Ticks, tick{data.y(t.At), t.Text})
		}
		data.Axes = append(data.Axes, v)
	}
	trace := func(p *path, trial int) {
		command := byte('M')
		for i := range columns {
			at := axes[i].at(values[i][trial])
			if !finite(at) {
				command = 'M'
				continue
			}
			p.add(command, data.Axes[i].X, data.y(at))
			command = 'L'
		}
	}
	marked := map[int]bool{}
	for _, m := range marks {
		var p path
		trace(&p, m.Index)
		marked[m.Index] = true
		data.Marks = append(data.Marks, line{p.String(), m.Text, m.Link})
	}
	var others path
	for i := range columns[0].Values {
		if !marked[i] {
			trace(&others, i)
		}
	}
	data.Others = others.String()
	return render("parallel", data)
}
