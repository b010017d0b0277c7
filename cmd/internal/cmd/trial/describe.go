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
	return command.NewRemote(s, &command.Remote{}, runDescribe, &cobra.Command{
		Use: "describe TRIAL", Short: "Show one trial: how far it is, what it found, why it ended",
		Example: "  det-deploy trial describe 12",
	})
}

func runDescribe(ctx context.Context, o *command.Remote, master *client.Client) error {
	id, err := readID("TRIAL", o.Args[0])
	if err != nil {
		return err
	}
	m, err := master.Trial(ctx, id)
	if err != nil {
		return err
	}
	return o.AnswerPairs(&apiv1.GetTrialResponse{Trial: m},
		[2]string{"ID", strconv.Itoa(int(m.GetId()))},
		[2]string{"Experiment", strconv.Itoa(int(m.GetExperimentId()))},
		[2]string{"State", show.Enum(m.GetState(), "STATE_")},
		[2]string{"Because", m.GetReason()},
		[2]string{"Doing", m.GetRunnerState()},
		[2]string{"Hyperparameters", formatHyperparameters(m)},
		[2]string{"Steps", strconv.Itoa(int(m.GetTotalBatchesProcessed()))},
		[2]string{"Best", formatBest(m)},
		[2]string{"Runs", describeRuns(m)},
		[2]string{"Checkpoints", describeCheckpoints(m)},
		[2]string{"Started from", m.GetWarmStartCheckpointUuid().GetValue()},
		[2]string{"Started", show.Time(m.GetStartTime())},
		[2]string{"Ended", show.Time(m.GetEndTime())},
		[2]string{"Trained for", formatSeconds(m.GetWallClockTime().GetValue())},
		[2]string{"Task", m.GetTaskId()},
	)
}

func describeRuns(m *apiv1.Trial) string {
	if m.GetRestarts() == 0 {
		return strconv.Itoa(int(m.GetRun()))
	}
	return fmt.Sprintf("%d, %d of them after a failure", m.GetRun(), m.GetRestarts())
}

func describeCheckpoints(m *apiv1.Trial) string {
	if m.GetCheckpointCount() == 0 {
		return ""
	}
	return fmt.Sprintf("%d (%.1f MB)", m.GetCheckpointCount(), float64(m.GetTotalCheckpointSize())/1e6)
}

func formatSeconds(s float64) string { return (time.Duration(s) * time.Second).String() }
