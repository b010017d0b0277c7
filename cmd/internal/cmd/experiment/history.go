package experiment

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func newHistory(s *term.Streams) *cobra.Command {
	return command.NewList(s, &command.Remote{Names: client.Experiments}, command.List[*command.Remote, *apiv1.ExperimentEvent]{
		Fetch: func(ctx context.Context, o *command.Remote, master *client.Client) ([]*apiv1.ExperimentEvent, error) {
			return command.ByNumber(noun, (*client.Client).ExperimentHistory)(ctx, master, o.Args[0])
		},
		Reply: func(events []*apiv1.ExperimentEvent) any { return &apiv1.GetExperimentHistoryResponse{Events: events} },
		Columns: []command.Column[*apiv1.ExperimentEvent]{
			{Head: ">EVENT", Value: func(x *apiv1.ExperimentEvent) any { return x.GetNumber() }},
			{Head: "AGE", Rank: 2, Value: func(x *apiv1.ExperimentEvent) any { return show.When(x.GetTime()) }},
			{Head: "USER", Rank: 3, Shortest: 8, Value: func(x *apiv1.ExperimentEvent) any { return x.GetUsername() }},
			{Head: "WHAT", Rank: 1, Shortest: 20, Value: func(x *apiv1.ExperimentEvent) any { return x.GetText() }},
		},
	}, &cobra.Command{
		Use: "history EXPERIMENT", Short: "Show the history of an experiment",
		Long: `Show the history of an experiment, oldest event first: user requests, the start and end
of each run, and each search decision and the report that caused it.`,
		Example: "  det-deploy experiment history 7",
	})
}
