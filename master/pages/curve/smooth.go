package curve

import "math"

// Smooth returns curves with each value replaced by a mean of it and the earlier ones, whose weight falls with
// their distance. weight is in percent. What is not a number stays, and is left out of the means.
func Smooth(all []Series, weight int) []Series {
	if weight <= 0 {
		return all
	}
	w := float64(weight) / 100
	out := make([]Series, len(all))
	for i, s := range all {
		sum, norm := 0.0, 0.0
		points := make([]Point, len(s.Points))
		for j, p := range s.Points {
			if !math.IsNaN(p.Y) && !math.IsInf(p.Y, 0) {
				sum, norm = w*sum+(1-w)*p.Y, w*norm+(1-w)
				p.Y = sum / norm
			}
			points[j] = p
		}
		s.Points = points
		out[i] = s
	}
	return out
}
