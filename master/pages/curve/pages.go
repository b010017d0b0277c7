package curve

import (
	"fmt"

	"github.com/det-deploy/det-deploy/master/pages/plot"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// Plot is the curves of a chart.
type Plot struct {
	// X and Y are the names of the axes.
	X, Y string
	// File is the name of the CSV file without its extension.
	File   string
	Curves []Series
	// Live is set while there may be new points.
	Live bool
	// Time is set if X is seconds since 1970.
	Time bool
}

// Pages returns the pages with the data of a chart in each format. The function read returns the plot of a visit.
func Pages(path string, read func(*ui.Visit) (Plot, error)) []ui.Page {
	page := func(extension string, send func(*ui.Visit, Plot, Look) error) ui.Page {
		return ui.Page{Pattern: "GET " + path + "." + extension, Serve: func(v *ui.Visit) error {
			p, err := read(v)
			if err != nil {
				return err
			}
			look := ReadLook(v.URL.Query())
			p.Curves = Smooth(p.Curves, look.Smooth)
			return send(v, p, look)
		}}
	}
	return []ui.Page{page("json", sendJSON), page("csv", sendCSV), page("svg", sendSVG)}
}

func sendJSON(v *ui.Visit, p Plot, _ Look) error { return v.JSON(NewData(p)) }

func sendCSV(v *ui.Visit, p Plot, l Look) error {
	x := p.X
	if p.Time {
		x = "seconds since 1970"
	}
	return WriteCSV(v.Attach(p.File+".csv", "text/csv; charset=utf-8"), x, l.label(p.Y), p.Curves)
}

func sendSVG(v *ui.Visit, p Plot, l Look) error {
	if p.Time {
		p.X = fromFirst(p.Curves)
	}
	y := ui.Plain(p.Y)
	return v.SVG(plot.Curves(y, p.X, l.label(y), Drawing(p.Curves), l.Log))
}

// label returns the name of values with what was done to them.
func (l Look) label(name string) string {
	if l.Smooth == 0 {
		return name
	}
	return fmt.Sprintf("%s (smoothed %d %%)", name, l.Smooth)
}

// fromFirst changes the times of points to seconds since the first of all, and returns the name of their axis.
func fromFirst(all []Series) string {
	var first Point
	for _, s := range all {
		if len(s.Points) > 0 && (first.At.IsZero() || s.Points[0].X < first.X) {
			first = s.Points[0]
		}
	}
	for _, s := range all {
		for i := range s.Points {
			s.Points[i].X -= first.X
		}
	}
	if first.At.IsZero() {
		return "seconds"
	}
	return "seconds since " + first.At.UTC().Format("2006-01-02 15:04:05 UTC")
}
