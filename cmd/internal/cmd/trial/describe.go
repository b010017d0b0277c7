package trial

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func newDescribe(s *term.Streams) *cobra.Command {
	return command.NewDescribe(s, command.Description[*apiv1.GetTrialResponse]{
		Fetch: fetchTrial, Pairs: pairs,
	}, &cobra.Command{
		Use: "describe TRIAL", Short: "Show a trial's status and results",
		Example: "  det-deploy trial describe 12",
	})
}

func fetchTrial(ctx context.Context, master *client.Client, text string) (*apiv1.GetTrialResponse, error) {
	m, err := command.ByNumber(noun, (*client.Client).Trial)(ctx, master, text)
	return &apiv1.GetTrialResponse{Trial: m}, err
}

func pairs(reply *apiv1.GetTrialResponse) [][2]string {
	m := reply.GetTrial()
	return [][2]string{
		{"ID", strconv.Itoa(int(m.GetId()))},
		{"Experiment", strconv.Itoa(int(m.GetExperimentId()))},
		{"State", show.TrialState(m)},
		{"Reason", m.GetReason()},
		{"Runner state", m.GetRunnerState()},
		{"Hyperparameters", formatHyperparameters(m)},
		{"Steps", strconv.Itoa(int(m.GetTotalBatchesProcessed()))},
		{"Best", formatBest(m)},
		{"Runs", describeRuns(m)},
		{"Checkpoints", describeCheckpoints(m)},
		{"Started from", m.GetWarmStartCheckpointUuid().GetValue()},
		{"Started", show.Time(m.GetStartTime())},
		{"Ended", show.Time(m.GetEndTime())},
		{"Trained for", formatSeconds(m.GetWallClockTime().GetValue())},
		{"Task", m.GetTaskId()},
	}
}

func describeRuns(m *apiv1.Trial) string {
	if m.GetRestarts() == 0 {
		return strconv.Itoa(int(m.GetRun()))
	}
	return fmt.Sprintf("%d, %d after a failure", m.GetRun(), m.GetRestarts())
}

func describeCheckpoints(m *apiv1.Trial) string {
	if m.GetCheckpointCount() == 0 {
		return ""
	}
	return fmt.Sprintf("%d (%.1f MB)", m.GetCheckpointCount(), float64(m.GetTotalCheckpointSize())/1e6)
}

func formatSeconds(s float64) string { return (time.Duration(s) * time.Second).String() }
