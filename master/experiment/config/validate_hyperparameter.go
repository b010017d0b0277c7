package config

import (
	"cmp"
	"math"

	"github.com/det-deploy/det-deploy/internal/document"
)

// validate returns the errors of one hyperparameter. A grid requires a count.
func (h Hyperparameter) validate(at string, grid bool) document.Errors {
	var e document.Errors
	switch {
	case h.Int != nil:
		checkRange(&e, at, h.Int.Min, h.Int.Max)
		checkCount(&e, at, h.Int.Count, grid)
	case h.Double != nil:
		checkRange(&e, at, h.Double.Min, h.Double.Max)
		checkCount(&e, at, h.Double.Count, grid)
	case h.Log != nil:
		checkRange(&e, at, h.Log.Min, h.Log.Max)
		checkCount(&e, at, h.Log.Count, grid)
		h.Log.checkBase(&e, at)
	case h.Categorical != nil:
		here := document.Join(at, "vals")
		if r := h.Categorical.Values; r.IsZero() || r.JSON()[0] != '[' {
			e.Add(here, "is required: a list of values")
		} else {
			e.Check(len(listOf(r)) > 0, here, "must have at least one value")
		}
	case h.Nested != nil:
		return h.Nested.validate(at, grid)
	}
	return e
}

func checkRange[T cmp.Ordered](e *document.Errors, at string, low, high *T) {
	e.Check(low != nil, document.Join(at, "minval"), "is required")
	e.Check(high != nil, document.Join(at, "maxval"), "is required")
	if low != nil && high != nil {
		e.Check(*low < *high, document.Join(at, "maxval"), "must be more than minval (is %v; minval is %v)", *high, *low)
	}
}

func checkCount(e *document.Errors, at string, count *int, grid bool) {
	here := document.Join(at, "count")
	e.Check(!grid || count != nil, here, "is required by the method grid: the number of points")
	checkLeast(e, here, count, 1)
}

// checkBase also rejects ranges whose powers are infinite, because JSON cannot encode them.
func (l Log) checkBase(e *document.Errors, at string) {
	here := document.Join(at, "base")
	if l.Base == nil {
		e.Add(here, "is required")
		return
	}
	e.Check(*l.Base > 0, here, "must be more than 0 (is %v)", *l.Base)
	if *l.Base <= 0 || l.Min == nil || l.Max == nil {
		return
	}
	for _, exponent := range []float64{*l.Min, *l.Max} {
		e.Check(!math.IsInf(math.Pow(*l.Base, exponent), 0), here, "to the power of %v is infinite", exponent)
	}
}
