package show

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Trial returns the names and values that describe a trial.
func Trial(m *apiv1.Trial) [][2]string {
	return [][2]string{
		{"ID", strconv.Itoa(int(m.GetId()))},
		{"Experiment", strconv.Itoa(int(m.GetExperimentId()))},
		{"State", TrialState(m)},
		{"Reason", m.GetReason()},
		{"Runner state", m.GetRunnerState()},
		{"Hyperparameters", Hyperparameters(m)},
		{"Steps", strconv.Itoa(int(m.GetTotalBatchesProcessed()))},
		{"Best", BestOfTrial(m)},
		{"Runs", runs(m)},
		{"Checkpoints", Checkpoints(m.GetCheckpointCount(), m.GetTotalCheckpointSize())},
		{"Started from", m.GetWarmStartCheckpointUuid().GetValue()},
		{"Started", Time(m.GetStartTime())},
		{"Ended", Time(m.GetEndTime())},
		{"Trained for", (time.Duration(m.GetWallClockTime().GetValue()) * time.Second).String()},
		{"Task", m.GetTaskId()},
	}
}

func runs(m *apiv1.Trial) string {
	if m.GetRestarts() == 0 {
		return strconv.Itoa(int(m.GetRun()))
	}
	return fmt.Sprintf("%d, %d after a failure", m.GetRun(), m.GetRestarts())
}

// Checkpoints returns a number of checkpoints with their size, or "" for none.
func Checkpoints(n int32, bytes int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d (%.1f MB)", n, float64(bytes)/1e6)
}

// BestOfTrial returns the best value of the searcher metric.
func BestOfTrial(m *apiv1.Trial) string {
	if m.GetSearcherMetricValue() == nil {
		return ""
	}
	return fmt.Sprintf("%.6g", m.GetSearcherMetricValue().GetValue())
}

// Hyperparameters returns the hyperparameters of a trial as JSON.
func Hyperparameters(m *apiv1.Trial) string {
	values, _ := json.Marshal(m.GetHparams().AsMap()) // the values were decoded from JSON
	return string(values)
}
