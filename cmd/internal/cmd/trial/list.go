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
	return command.NewList(s, &command.Remote{Names: client.Experiments}, command.List[*command.Remote, *apiv1.Trial]{
		Fetch: func(ctx context.Context, o *command.Remote, master *client.Client) ([]*apiv1.Trial, error) {
			return command.ByNumber("experiment", (*client.Client).ExperimentTrials)(ctx, master, o.Args[0])
		},
		Reply: func(trials []*apiv1.Trial) any { return &apiv1.GetExperimentTrialsResponse{Trials: trials} },
		Heads: []string{">ID", "STATE", ">RUN", ">RESTARTS", ">STEPS", ">BEST", "HYPERPARAMETERS", "NOTE"},
		Row: func(m *apiv1.Trial) []any {
			return []any{
				m.GetId(), show.Enum(m.GetState(), "STATE_"), m.GetRun(), m.GetRestarts(), m.GetTotalBatchesProcessed(),
				formatBest(m), formatHyperparameters(m), m.GetReason(),
			}
		},
	}, &cobra.Command{
		Use: "list EXPERIMENT", Short: "List the trials of an experiment", Example: "  det-deploy trial list 7",
	})
}

func formatBest(m *apiv1.Trial) string {
	if m.GetSearcherMetricValue() == nil {
		return ""
	}
	return fmt.Sprintf("%.6g", m.GetSearcherMetricValue().GetValue())
}

func formatHyperparameters(m *apiv1.Trial) string {
	values, _ := json.Marshal(m.GetHparams().AsMap()) // the values were decoded from JSON
	return string(values)
}
