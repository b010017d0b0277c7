package view

import (
	"cmp"
	"math"
	"time"

	"github.com/det-deploy/det-deploy/master/experiment/record"
)

// compareEnds orders what has not ended behind what has.
func compareEnds(a, b time.Time) int {
	if a.IsZero() != b.IsZero() {
		if a.IsZero() {
			return 1
		}
		return -1
	}
	return a.Compare(b)
}

// compareBest orders what has no validation behind what has.
func compareBest(a, b *record.Best) int { return cmp.Compare(metricOr(a), metricOr(b)) }

func metricOr(b *record.Best) float64 {
	if b == nil || math.IsNaN(float64(b.Metric)) {
		return math.Inf(1)
	}
	return float64(b.Metric)
}
