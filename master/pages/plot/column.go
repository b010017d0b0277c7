package plot

import (
	"math"
	"slices"
	"strconv"
)

// Column is the values of a hyperparameter or a metric, one for each trial.
type Column struct {
	Name string
	// Log selects a logarithmic axis, if the values are numbers.
	Log bool
	// Values are numbers, texts and truth values. Nil is no value.
	Values []any
}

// IsNumeric reports whether all values are numbers.
func (c Column) IsNumeric() bool {
	return !slices.ContainsFunc(c.Values, func(v any) bool {
		_, number := v.(float64)
		return !number && v != nil
	})
}

// mostLabels is the number of categories that an axis tells apart; the others share its end.
const mostLabels = 50

// scaled returns the axis of a column and the values as numbers of it, NaN where there is none.
func (c Column) scaled() (axis, []float64) {
	numbers := make([]float64, len(c.Values))
	if c.IsNumeric() {
		for i, v := range c.Values {
			numbers[i] = math.NaN()
			if n, ok := v.(float64); ok {
				numbers[i] = n
			}
		}
		return newAxis(c.Name, numbers, c.Log), numbers
	}
	labels := c.labels()
	for i, v := range c.Values {
		numbers[i] = math.NaN()
		if v == nil {
			continue
		}
		at := slices.Index(labels, text(v))
		if at < 0 {
			at = len(labels) - 1 // others
		}
		numbers[i] = float64(at)
	}
	a := axis{name: c.Name, lo: -0.5, hi: float64(len(labels)) - 0.5, labels: labels}
	return a, numbers
}

// labels returns the distinct values in order.
func (c Column) labels() []string {
	var all []string
	for _, v := range c.Values {
		if v != nil && len(all) <= mostLabels && !slices.Contains(all, text(v)) {
			all = append(all, text(v))
		}
	}
	slices.Sort(all)
	if len(all) > mostLabels {
		all = append(all[:mostLabels-1:mostLabels-1], "others")
	}
	return all
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return Number(v)
	}
	return "?"
}
