package search

import (
	"encoding/json"
	"fmt"
	"math"
)

// News is a kind of input.
type News string

// The inputs of a search.
const (
	// Started is the start of the experiment.
	Started News = "started"
	// Validated is a validation of a trial with a known metric and, if trials are stopped, a known
	// time metric. Both may come from several reports.
	Validated News = "validated"
	// Ended is the end of a trial including all its runs.
	Ended News = "ended"
)

// End is the outcome of a trial.
type End string

// The outcomes of a trial.
const (
	Completed End = "completed"
	Failed    End = "failed"
	Canceled  End = "canceled"
	// Invalid is a trial whose program rejected its hyperparameters. If they were drawn, another
	// trial replaces it.
	Invalid End = "invalid_hp"
)

// Input is one input of a search.
type Input struct {
	News News `json:"news"`
	// Trial is the position of the trial in the search, from 1.
	Trial  int    `json:"trial,omitempty"`
	Time   Number `json:"time,omitempty"`
	Metric Number `json:"metric,omitempty"`
	End    End    `json:"end,omitempty"`
}

// Number is a real number that JSON can encode even if it is NaN or infinite.
type Number float64

// MarshalJSON encodes NaN and infinities as strings.
func (n Number) MarshalJSON() ([]byte, error) {
	if f := float64(n); !math.IsNaN(f) && !math.IsInf(f, 0) {
		return json.Marshal(f)
	}
	return json.Marshal(n.String())
}

// UnmarshalJSON decodes the output of MarshalJSON. It returns an error for any other string.
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

// String returns the number as a text such as 0.412, NaN or Infinity.
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

// ReadMetrics returns the time metric and the metric of one validation, and false if one of them is
// missing or not a number. A metric may be NaN or infinite, a time may not.
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
