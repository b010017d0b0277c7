package search

import (
	"encoding/json"
	"fmt"
	"math"
)

// News is a kind of input.
type News string

// The news that a search decides upon.
const (
	// Started is the experiment itself.
	Started News = "started"
	// Validated is a validation of a trial in which the metric and, where trials are stopped,
	// the time metric are known, whether they came in one report or in several.
	Validated News = "validated"
	// Ended is the end of a trial, all its runs included.
	Ended News = "ended"
)

// End is how a trial ended.
type End string

// The ends of a trial.
const (
	Completed End = "completed"
	Failed    End = "failed"
	Canceled  End = "canceled"
	// Invalid is a trial whose program found its hyperparameters impossible. Where they were
	// drawn, another trial takes its place.
	Invalid End = "invalid_hp"
)

// Input is one piece of news.
type Input struct {
	News News `json:"news"`
	// Trial counts the trials of the search from 1, in the order in which they were created.
	Trial  int    `json:"trial,omitempty"`
	Time   Number `json:"time,omitempty"`
	Metric Number `json:"metric,omitempty"`
	End    End    `json:"end,omitempty"`
}

// Number is a real number that JSON may also hold when it is NaN or infinite.
type Number float64

// MarshalJSON writes what JSON has no number for as text.
func (n Number) MarshalJSON() ([]byte, error) {
	if f := float64(n); !math.IsNaN(f) && !math.IsInf(f, 0) {
		return json.Marshal(f)
	}
	return json.Marshal(n.String())
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (n *Number) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		return json.Unmarshal(data, (*float64)(n))
	}
	for _, special := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if Number(special).String() == text {
			*n = Number(special)
			return nil
		}
	}
	return fmt.Errorf("read a number: %.32q is not one", text)
}

// String is as people read it: 0.412, NaN, Infinity.
func (n Number) String() string {
	switch f := float64(n); {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	default:
		return fmt.Sprintf("%.6g", f)
	}
}

// ReadMetrics finds the metric and the time metric among all that is known of one validation; ok
// is false as long as one of them is missing, or no number. A metric may be NaN or infinite, a
// time may not.
func (c Config) ReadMetrics(metrics map[string]any) (time, metric Number, ok bool) {
	m, found := readNumber(metrics[c.Metric])
	t, timed := readNumber(metrics[c.TimeMetric])
	finite := !math.IsNaN(t) && !math.IsInf(t, 0)
	return Number(t), Number(m), found && timed && finite
}

func readNumber(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	case int:
		return float64(v), true
	case Number:
		return float64(v), true
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	}
	return 0, false
}
