package series

import (
	"cmp"
	"math"
	"slices"
)

// downsample reduces a curve to at most the given number of points. It keeps the shape of the curve, its
// first and last point and, from 5 points on, its smallest and largest value.
func downsample(points []point, most int) []point {
	if len(points) <= most {
		return points
	}
	if most < 5 {
		return largestTriangles(points, most)
	}
	for spare := 0; ; spare++ {
		chosen := largestTriangles(points, most-spare)
		if missing := extremesBeside(chosen, points); len(missing) <= spare {
			chosen = append(chosen, missing...)
			slices.SortFunc(chosen, bySteps)
			return chosen
		}
	}
}

func bySteps(a, b point) int { return cmp.Compare(a.steps, b.steps) }

// extremesBeside returns the extremes of points that are not among the chosen ones; there are at most two.
func extremesBeside(chosen, points []point) []point {
	return slices.DeleteFunc(extremes(points), func(extreme point) bool {
		_, found := slices.BinarySearchFunc(chosen, extreme, bySteps)
		return found
	})
}

// extremes returns the points with the smallest and the largest number: one if all are equal, none if none is
// a number.
func extremes(points []point) []point {
	var numbers []point
	for _, p := range points {
		if !math.IsNaN(p.value) && !math.IsInf(p.value, 0) {
			numbers = append(numbers, p)
		}
	}
	if len(numbers) == 0 {
		return nil
	}
	byValue := func(a, b point) int { return cmp.Compare(a.value, b.value) }
	least, greatest := slices.MinFunc(numbers, byValue), slices.MaxFunc(numbers, byValue)
	if least.steps == greatest.steps {
		return []point{least}
	}
	return []point{least, greatest}
}

// largestTriangles reduces a curve to a number of points (largest triangle three buckets): it keeps the
// first and the last point, divides the others into equal parts, and selects from each part the point with
// the largest triangle to the point selected before and the mean of the next part.
func largestTriangles(points []point, most int) []point {
	if most < 3 {
		return points[len(points)-max(most, 0):]
	}
	chosen := make([]point, 0, most)
	chosen = append(chosen, points[0])
	parts := most - 2
	inner := points[1 : len(points)-1]
	for i := range parts {
		part := inner[i*len(inner)/parts : (i+1)*len(inner)/parts]
		next := points[len(points)-1:]
		if i+1 < parts {
			next = inner[(i+1)*len(inner)/parts : (i+2)*len(inner)/parts]
		}
		chosen = append(chosen, largestTriangle(chosen[i], part, next))
	}
	return append(chosen, points[len(points)-1])
}

// largestTriangle returns the point of part with the largest triangle to the point from and the mean
// of next. It prefers a point that is NaN or infinite, because users look for these.
func largestTriangle(from point, part, next []point) point {
	x, y := meanOf(next)
	best, area := part[0], -1.0
	for _, p := range part {
		if math.IsNaN(p.value) || math.IsInf(p.value, 0) {
			return p
		}
		fromX := float64(from.steps)
		a := math.Abs((fromX-x)*(p.value-from.value) - (fromX-float64(p.steps))*(y-from.value))
		if a > area {
			best, area = p, a
		}
	}
	return best
}

func meanOf(points []point) (x, y float64) {
	for _, p := range points {
		x += float64(p.steps) / float64(len(points))
		y += p.value / float64(len(points))
	}
	return x, y
}
