package metric

import (
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
)

// Type is the type of a metric's values.
type Type string

// The types of metrics, as defined by the API. A metric with values of several types is a Text.
const (
	NumberType Type = "number"
	Text       Type = "string"
	Date       Type = "date"
	Boolean    Type = "boolean"
	Object     Type = "object"
	Array      Type = "array"
	Null       Type = "null"
)

// isoDate matches a time as formatted by Python.
var isoDate = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?([+-]\d{2}:\d{2}|Z)?$`)

// TypeOf returns the type of a value.
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

// Stat summarizes a metric over all steps. Min, Max and Sum apply to numbers; NaN and infinities are
// strings.
type Stat struct {
	Type Type `json:"type"`
	// Count is the number of steps with the metric.
	Count int64 `json:"count"`
	// Last is the value at LastSteps, the highest step.
	Last      any   `json:"last"`
	LastSteps int64 `json:"last_steps"`
	Min       any   `json:"min,omitempty"`
	Max       any   `json:"max,omitempty"`
	Sum       any   `json:"sum,omitempty"`
}

// Mean returns the mean of a numeric metric, and false for other types.
func (s Stat) Mean() (mean any, ok bool) {
	sum, ok := Number(s.Sum)
	if !ok || s.Type != NumberType {
		return nil, false
	}
	return JSONNumber(sum / float64(s.Count)), true
}

// addValue adds the value of a step that had no value of the metric.
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

// maxLast limits the last value in a summary in bytes of JSON.
const maxLast = 1 << 10

// shortValue returns the value for a summary: nil for a long string, object or list, which only the
// report contains.
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

// foldNumbers returns pick of both numbers, or the other number if one is NaN.
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

// Summary holds the statistics of a trial's metrics by group and name, without profiling groups.
type Summary map[string]map[string]Stat

// addReport adds the new values of a report. Each value must be added only once. If the trial
// reported more than maxNames names to an earlier version, the summary contains only the first
// maxNames.
func (s Summary) addReport(group string, steps int64, averages map[string]any) {
	if IsProfiling(group) {
		return
	}
	room := maxNames - s.count()
	names := maps.Keys(averages)
	if len(averages) > room {
		names = slices.Values(slices.Sorted(names)) // sorted, so that the selection is deterministic
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

// GroupKey returns the key of a group in summaries and reports of the API.
func GroupKey(group string) string {
	switch group {
	case Training:
		return "avg_metrics"
	case Validation:
		return "validation_metrics"
	}
	return group
}

// Shown returns the summary in the form of the API.
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
