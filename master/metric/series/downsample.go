package series

import "math"

// downsample leaves at most so many points of a curve that show its shape: the first, the
// last, and of as many equal parts between them each the one that spans the largest
// triangle with the point chosen before and the mean of the part behind. It is pure.
func downsample(points []point, most int) []point {
	if len(points) <= most {
		return points
	}
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

// largestTriangle is the point of part that is farthest from the line between a point and
// the mean of those that follow. A value that is not finite is chosen at once: it is what
// a reader looks for.
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
