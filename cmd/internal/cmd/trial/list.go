package trial

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func newList(s *term.Streams) *cobra.Command {
	return command.NewRemote(s, &command.Remote{}, runList, &cobra.Command{
		Use: "list EXPERIMENT", Short: "List the trials of an experiment", Example: "  det-deploy trial list 7",
	})
}

func runList(ctx context.Context, o *command.Remote, master *client.Client) error {
	id, err := readID("EXPERIMENT", o.Args[0])
	if err != nil {
		return err
	}
	trials, err := master.ExperimentTrials(ctx, id)
	if err != nil {
		return err
	}
	t := term.NewTable(">ID", "STATE", ">RUN", ">RESTARTS", ">STEPS", ">BEST", "HYPERPARAMETERS", "NOTE")
	for _, m := range trials {
		t.Row(m.GetId(), show.Enum(m.GetState(), "STATE_"), m.GetRun(), m.GetRestarts(), m.GetTotalBatchesProcessed(),
			formatBest(m), formatHyperparameters(m), m.GetReason())
	}
	return o.AnswerTable(&apiv1.GetExperimentTrialsResponse{Trials: trials}, t)
}

func formatBest(m *apiv1.Trial) string {
	if m.GetSearcherMetricValue() == nil {
		return ""
	}
	return fmt.Sprintf("%.6g", m.GetSearcherMetricValue().GetValue())
}

func formatHyperparameters(m *apiv1.Trial) string {
	values, _ := json.Marshal(m.GetHparams().AsMap()) // it came as JSON
	return string(values)
}
