package hparam

import "math"

// axis is one hyperparameter of a grid at any nesting level.
type axis struct {
	path  []string
	count int
	value func(i int) any
}

// listAxes returns the axes sorted by name. Nested hyperparameters take the position of their
// parent.
func (s Space) listAxes(path []string) []axis {
	var out []axis
	for _, name := range s.sortedNames() {
		here := append(append([]string(nil), path...), name)
		if p := s[name]; p.Nested != nil {
			out = append(out, p.Nested.listAxes(here)...)
		} else {
			count, value := p.makeAxis()
			out = append(out, axis{here, count, value})
		}
	}
	return out
}

func (p Parameter) makeAxis() (int, func(i int) any) {
	switch {
	case p.Int != nil:
		low, high := p.Int.Min, p.Int.Max
		count := p.Int.Count
		if n := uint64(high) - uint64(low); n < uint64(max(count, 1)) {
			count = int(n) + 1
		}
		return count, func(i int) any {
			return roundWithin(spacePoint(float64(low), float64(high), i, count), low, high)
		}
	case p.Double != nil:
		return p.Double.Count, func(i int) any { return spacePoint(p.Double.Min, p.Double.Max, i, p.Double.Count) }
	case p.Log != nil:
		return p.Log.Count, func(i int) any {
			return math.Pow(p.Log.Base, spacePoint(p.Log.Min, p.Log.Max, i, p.Log.Count))
		}
	case p.Categorical != nil:
		return len(p.Categorical.Values), func(i int) any { return p.Categorical.Values[i] }
	case p.Const != nil:
		return 1, func(int) any { return p.Const.Value }
	}
	return 1, func(int) any { return nil }
}

// roundWithin rounds a point and keeps it inside its range. Outside, the float may not fit into an
// int64.
func roundWithin(point float64, low, high int64) int64 {
	switch r := math.Round(point); {
	case r >= float64(high):
		return high
	case r <= float64(low):
		return low
	default:
		return int64(r)
	}
}

// spacePoint returns the i-th of count evenly spaced points from low to high inclusive. A single
// point is the middle of the range.
func spacePoint(low, high float64, i, count int) float64 {
	if count == 1 {
		return (low + high) / 2
	}
	return low + float64(i)*(high-low)/float64(count-1)
}

// Most limits the number of points that Points counts.
const Most = 1_000_000

// Points returns the number of points in the grid, or Most+1 if there are more than Most. It returns
// 0 if a hyperparameter lacks a required count.
func (s Space) Points() int {
	n := 1
	for _, a := range s.listAxes(nil) {
		n = min(n*min(max(a.count, 0), Most+1), Most+1)
	}
	return n
}

// Point returns the i-th point of the grid. The last name varies fastest.
func (s Space) Point(i int) map[string]any {
	out := s.makeFrame()
	axes := s.listAxes(nil)
	for n := len(axes) - 1; n >= 0; n-- {
		a := axes[n]
		setPath(out, a.path, a.value(i%a.count))
		i /= a.count
	}
	return out
}

// makeFrame returns the nested mappings of the space without values.
func (s Space) makeFrame() map[string]any {
	out := map[string]any{}
	for name, p := range s {
		if p.Nested != nil {
			out[name] = p.Nested.makeFrame()
		}
	}
	return out
}

func setPath(m map[string]any, path []string, value any) {
	if len(path) == 1 {
		m[path[0]] = value
		return
	}
	if child, ok := m[path[0]].(map[string]any); ok {
		setPath(child, path[1:], value)
	}
}
