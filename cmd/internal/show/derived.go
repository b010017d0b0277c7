package show

import (
	"math"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// derive adds the fields of the JSON output that the API leaves to its clients: the states in the words of
// the text output, and durations in seconds.
func derive(out map[string]any, m proto.Message) {
	switch m := m.(type) {
	case *apiv1.Command:
		out["state"] = TaskState(m)
		delete(out, "status")
		addDuration(out, m.GetAssignedTime(), m.GetEndTime())
	case *apiv1.Experiment:
		out["state"] = strings.ReplaceAll(ExperimentState(m), " ", "_")
		delete(out, "status")
		addDuration(out, m.GetStartTime(), m.GetEndTime())
	case *apiv1.Trial:
		out["state"] = strings.ReplaceAll(TrialState(m), " ", "_")
		delete(out, "status")
		addDuration(out, m.GetStartTime(), m.GetEndTime())
	}
}

// addDuration adds the time from start to end, or until now, in seconds.
func addDuration(out map[string]any, start, end *timestamppb.Timestamp) {
	if start != nil {
		out["durationSeconds"] = math.Round(Between(start, end, time.Now()).Seconds())
	}
}

// Between returns the time from start to end, or until now if there is no end yet; 0 if there is no start.
func Between(start, end *timestamppb.Timestamp, now time.Time) time.Duration {
	if start == nil {
		return 0
	}
	if end != nil {
		now = end.AsTime()
	}
	return max(now.Sub(start.AsTime()), 0)
}

// finite returns f, or its name, as JSON has no infinite numbers.
func finite(f float64) any {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	default:
		return f
	}
}
