package curve

import (
	"io"
	"math"
	"strconv"
	"time"

	"github.com/det-deploy/det-deploy/internal/spreadsheet"
	"github.com/det-deploy/det-deploy/master/pages/plot"
)

// Data is curves in the form that the script draws.
type Data struct {
	X string `json:"x"`
	Y string `json:"y"`
	// Time is set if X is seconds since 1970.
	Time bool `json:"time"`
	// Live is set while there may be new points.
	Live   bool   `json:"live"`
	Curves []Line `json:"curves"`
}

// Line is a curve for the script.
type Line struct {
	Name  string `json:"name"`
	Link  string `json:"link,omitempty"`
	Other bool   `json:"other,omitempty"`
	// X has all digits, which times need.
	X []float64 `json:"x"`
	// Y is null where the value is no number, and Lost says where that is.
	Y    numbers   `json:"y"`
	Lost []float64 `json:"lost,omitempty"`
}

// numbers are written with six digits, and null for what is no number.
type numbers []float64

// MarshalJSON implements json.Marshaler.
func (n numbers) MarshalJSON() ([]byte, error) {
	out := append(make([]byte, 0, 8*len(n)+2), '[')
	for i, v := range n {
		if i > 0 {
			out = append(out, ',')
		}
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			out = append(out, "null"...)
		case v == math.Trunc(v) && math.Abs(v) < 1e15:
			out = strconv.AppendFloat(out, v, 'f', -1, 64)
		default:
			out = strconv.AppendFloat(out, v, 'g', 6, 64)
		}
	}
	return append(out, ']'), nil
}

// NewData returns the data of a plot.
func NewData(p Plot) Data {
	d := Data{X: p.X, Y: p.Y, Time: p.Time, Live: p.Live, Curves: []Line{}}
	for _, s := range p.Curves {
		l := Line{Name: s.Name, Link: s.Link, Other: s.Other, X: []float64{}, Y: numbers{}}
		for _, p := range s.Points {
			l.X, l.Y = append(l.X, p.X), append(l.Y, p.Y)
			if math.IsNaN(p.Y) || math.IsInf(p.Y, 0) {
				l.Lost = append(l.Lost, p.X)
			}
		}
		d.Curves = append(d.Curves, l)
	}
	return d
}

// Drawing returns curves for a drawing.
func Drawing(all []Series) []plot.Curve {
	out := make([]plot.Curve, 0, len(all))
	for _, s := range all {
		c := plot.Curve{Name: s.Name, Other: s.Other}
		for _, p := range s.Points {
			c.X, c.Y = append(c.X, p.X), append(c.Y, p.Y)
		}
		out = append(out, c)
	}
	return out
}

// WriteCSV writes a line for each point.
func WriteCSV(w io.Writer, x, y string, all []Series) error {
	c := spreadsheet.NewWriter(w)
	c.Write("curve", x, y, "time")
	for _, s := range all {
		for _, p := range s.Points {
			at := ""
			if !p.At.IsZero() {
				at = p.At.UTC().Format(time.RFC3339Nano)
			}
			c.Write(s.Name, strconv.FormatFloat(p.X, 'f', -1, 64), strconv.FormatFloat(p.Y, 'g', -1, 64), at)
		}
	}
	return c.Flush()
}
