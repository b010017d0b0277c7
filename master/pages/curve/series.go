package curve

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Most is the number of points of a curve.
const Most = 1000

// Series is one curve: values of a trial by step.
type Series struct {
	Name string
	// Link is the page of the trial.
	Link string
	// Other marks a curve that is only the background of others.
	Other  bool
	Points []Point
}

// Point is one value. It is NaN or infinite if the program reported that.
type Point struct {
	X, Y float64
	// At is the time of the report; it may be zero.
	At time.Time
}

// FromTrial returns the curve of a metric of a trial.
func FromTrial(t *apiv1.ComparableTrial, m Metric) Series {
	id := t.GetTrial().GetId()
	s := Series{Name: fmt.Sprintf("trial %d", id), Link: fmt.Sprintf("/det/experiments/%d/trials/%d", t.GetTrial().GetExperimentId(), id)}
	for _, group := range t.GetMetrics() {
		if group.GetGroup() != m.Group {
			continue
		}
		for _, p := range group.GetData() {
			if v, found := p.GetValues().GetFields()[m.Name]; found {
				s.Points = append(s.Points, Point{X: float64(p.GetBatches()), Y: NumberOf(v), At: p.GetTime().AsTime()})
			}
		}
	}
	return s
}

// NumberOf returns the number of a value of the API, in which NaN and infinities are texts. It returns NaN for
// other values.
func NumberOf(v *structpb.Value) float64 {
	switch v := v.GetKind().(type) {
	case *structpb.Value_NumberValue:
		return v.NumberValue
	case *structpb.Value_StringValue:
		if f, err := strconv.ParseFloat(v.StringValue, 64); err == nil {
			return f
		}
	}
	return math.NaN()
}

// Reduce returns at most the given number of points, an even number of 4 or more: the smallest and the
// largest of each of equal parts. A value that is not a number is kept if its part has no other two.
func Reduce(points []Point, most int) []Point {
	if len(points) <= most {
		return points
	}
	parts := most / 2
	out := make([]Point, 0, most)
	for i := range parts {
		part := points[i*len(points)/parts : (i+1)*len(points)/parts]
		lo, hi := 0, 0
		for j, p := range part {
			if p.Y < part[lo].Y || math.IsNaN(part[lo].Y) {
				lo = j
			}
			if p.Y > part[hi].Y || math.IsNaN(part[hi].Y) {
				hi = j
			}
		}
		out = append(out, part[min(lo, hi)])
		if lo != hi {
			out = append(out, part[max(lo, hi)])
		}
	}
	return out
}
