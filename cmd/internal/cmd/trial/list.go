package trial

import (
	"context"
	"time"

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
		Columns: []command.Column[*apiv1.Trial]{
			{Head: ">ID", Value: func(x *apiv1.Trial) any { return x.GetId() }},
			{Head: "STATE", Rank: 1, Value: func(x *apiv1.Trial) any { return show.TrialState(x) }},
			{Head: ">RUN", Rank: 7, Value: func(x *apiv1.Trial) any { return x.GetRun() }},
			{Head: ">RESTARTS", Rank: 6, Value: func(x *apiv1.Trial) any { return x.GetRestarts() }},
			{Head: ">STEPS", Rank: 3, Value: func(x *apiv1.Trial) any { return x.GetTotalBatchesProcessed() }},
			{Head: ">BEST", Rank: 2, Value: func(x *apiv1.Trial) any { return show.BestOfTrial(x) }},
			{Head: "AGE", Rank: 5, Value: func(x *apiv1.Trial) any { return show.When(x.GetStartTime()) }},
			{Head: "DURATION", Rank: 5, Value: func(x *apiv1.Trial) any { return show.Between(x.GetStartTime(), x.GetEndTime(), time.Now()) }},
			{Head: "HYPERPARAMETERS", Rank: 4, Shortest: 20, Value: func(x *apiv1.Trial) any { return show.Hyperparameters(x) }},
			{Head: "REASON", Rank: 8, Shortest: 20, Value: func(x *apiv1.Trial) any { return x.GetReason() }},
		},
		None: "The experiment has no trials yet.",
	}, &cobra.Command{
		Use: "list EXPERIMENT", Short: "List the trials of an experiment", Example: "  det-deploy trial list 7",
	})
}
