package metric

import (
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
)

// Type is what the values of a metric are.
type Type string

// The types of metrics, as clients know them. A metric whose values are of several
// types is a Text.
const (
	NumberType Type = "number"
	Text       Type = "string"
	Date       Type = "date"
	Boolean    Type = "boolean"
	Object     Type = "object"
	Array      Type = "array"
	Null       Type = "null"
)

// isoDate is how Python writes a time.
var isoDate = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?([+-]\d{2}:\d{2}|Z)?$`)

// TypeOf is the type of one value.
func TypeOf(value any) Type {
	if _, ok := Number(value); ok {
		return NumberType
	}
	switch v := value.(type) {
	case string:
		if isoDate.MatchString(v) {
			return Date
		}
	case bool:
		return Boolean
	case map[string]any:
		return Object
	case []any:
		return Array
	case nil:
		return Null
	}
	return Text
}

// Stat is what became of one metric over all steps. Min, Max and Sum are of numbers, and
// values that JSON has no number for are texts in them too.
type Stat struct {
	Type Type `json:"type"`
	// Count is how many steps have it.
	Count int64 `json:"count"`
	// Last is the value of the greatest step, LastSteps.
	Last      any   `json:"last"`
	LastSteps int64 `json:"last_steps"`
	Min       any   `json:"min,omitempty"`
	Max       any   `json:"max,omitempty"`
	Sum       any   `json:"sum,omitempty"`
}

// Mean is the mean of a metric that is a number.
func (s Stat) Mean() (mean any, ok bool) {
	sum, ok := Number(s.Sum)
	if !ok || s.Type != NumberType {
		return nil, false
	}
	return JSONNumber(sum / float64(s.Count)), true
}

// addValue adds the value of a step that the metric had none for.
func (s Stat) addValue(value any, steps int64) Stat {
	t := TypeOf(value)
	if s.Count == 0 {
		s.Type = t
	}
	if s.Type != t {
		s.Type, s.Min, s.Max, s.Sum = Text, nil, nil, nil
	}
	if s.Count == 0 || steps >= s.LastSteps {
		s.Last, s.LastSteps = shortValue(value), steps
	}
	s.Count++
	if x, ok := Number(value); ok && s.Type == NumberType {
		s.Min, s.Max = foldNumbers(math.Min, s.Min, x), foldNumbers(math.Max, s.Max, x)
		s.Sum = JSONNumber(x + numberOr(s.Sum, 0))
	}
	return s
}

// maxLast bounds the last value in a summary, in bytes of JSON.
const maxLast = 1 << 10

// shortValue returns a value as summaries have it: nil for a text, an object or a list that is too long, which the
// report itself has.
func shortValue(value any) any {
	switch v := value.(type) {
	case string:
		if len(v) > maxLast {
			return nil
		}
	case map[string]any, []any:
		if b, err := json.Marshal(v); err != nil || len(b) > maxLast {
			return nil
		}
	}
	return value
}

// foldNumbers is pick of both numbers; NaN loses.
func foldNumbers(pick func(a, b float64) float64, have any, x float64) any {
	y := numberOr(have, math.NaN())
	switch {
	case math.IsNaN(y):
		return JSONNumber(x)
	case math.IsNaN(x):
		return JSONNumber(y)
	}
	return JSONNumber(pick(x, y))
}

func numberOr(value any, otherwise float64) float64 {
	if x, ok := Number(value); ok {
		return x
	}
	return otherwise
}

// Summary is the metrics of a trial by group and name, without those of profiling.
type Summary map[string]map[string]Stat

// addReport adds what a report brought. Each value is added once. Of a trial that reported more names to an earlier
// version the first maxNames are in the summary.
func (s Summary) addReport(group string, steps int64, averages map[string]any) {
	if IsProfiling(group) {
		return
	}
	room := maxNames - s.count()
	names := maps.Keys(averages)
	if len(averages) > room {
		names = slices.Values(slices.Sorted(names)) // the same ones each time
	}
	for name := range names {
		stat, known := s[group][name]
		if !known && room <= 0 {
			continue
		}
		if !known {
			room--
		}
		if s[group] == nil {
			s[group] = map[string]Stat{}
		}
		s[group][name] = stat.addValue(averages[name], steps)
	}
}

// count returns the number of names.
func (s Summary) count() int {
	n := 0
	for _, stats := range s {
		n += len(stats)
	}
	return n
}

func (s Summary) clone() Summary {
	c := make(Summary, len(s))
	for group, stats := range s {
		c[group] = maps.Clone(stats)
	}
	return c
}

// GroupKey is the name of a group among those of summaries and of reports, as clients
// know it.
func GroupKey(group string) string {
	switch group {
	case Training:
		return "avg_metrics"
	case Validation:
		return "validation_metrics"
	}
	return group
}

// Shown is the summary as clients read it.
func (s Summary) Shown() map[string]any {
	shown := make(map[string]any, len(s))
	for group, stats := range s {
		names := make(map[string]any, len(stats))
		for name, stat := range stats {
			names[name] = stat.shown()
		}
		shown[GroupKey(group)] = names
	}
	return shown
}

func (s Stat) shown() map[string]any {
	m := map[string]any{"type": string(s.Type), "count": float64(s.Count), "last": s.Last}
	if mean, ok := s.Mean(); ok {
		m["min"], m["max"], m["sum"], m["mean"] = s.Min, s.Max, s.Sum, mean
	}
	return m
}
