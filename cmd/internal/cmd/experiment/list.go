package experiment

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type listOptions struct {
	command.Owned
	client.ExperimentQuery

	Words []string
}

func newList(s *term.Streams) *cobra.Command {
	o := &listOptions{}
	c := command.NewList(s, o, command.List[*listOptions, *apiv1.Experiment]{
		Fetch:   fetchExperiments,
		Reply:   func(list []*apiv1.Experiment) any { return &apiv1.GetExperimentsResponse{Experiments: list} },
		Columns: columns(),
		None:    "No experiments found.",
	}, &cobra.Command{
		Use: "list", Short: "List your experiments, newest first",
		Example: "  det-deploy experiment list\n  det-deploy experiment list --all --state running --limit 20 --output json",
	})
	f := c.Flags()
	o.AddOwnerFlags(c)
	f.BoolVar(&o.Archived, "archived", false, "include archived experiments")
	command.AddWordsFlag(c, &o.Words, "state", words())
	f.StringSliceVar(&o.Pools, "pool", nil, "show only experiments of these pools")
	o.CompleteFlag(c, "pool", client.Pools)
	f.StringSliceVarP(&o.Labels, "label", "l", nil, "show only experiments with all of these labels")
	return c
}

// words returns the values of --state.
func words() []string {
	return []string{"queued", "pulling", "starting", "running", "paused", "succeeded", "failed", "killed", "deleting", "delete_failed"}
}

// Validate returns an error for a state that experiments do not have.
func (o *listOptions) Validate() error {
	for _, w := range o.Words {
		o.States = append(o.States, apiv1.StatesOf(apiv1.Status(w))...)
	}
	return command.CheckWords("state", o.Words, words())
}

func fetchExperiments(ctx context.Context, o *listOptions, master *client.Client) ([]*apiv1.Experiment, error) {
	var err error
	if o.Users, err = o.Owners(ctx, master); err != nil {
		return nil, err
	}
	o.Limit = o.List.ServerLimit()
	list, err := master.Experiments(ctx, o.ExperimentQuery)
	if err == nil && len(list) == 0 {
		err = command.CheckPools(ctx, master, o.Pools...)
	}
	return list, err
}

func columns() []command.Column[*apiv1.Experiment] {
	return []command.Column[*apiv1.Experiment]{
		{Head: ">ID", Value: func(x *apiv1.Experiment) any { return x.GetId() }},
		{Head: "NAME", Rank: 2, Shortest: 16, Value: func(x *apiv1.Experiment) any { return x.GetName() }},
		{Head: "USER", Rank: 6, Shortest: 8, Value: func(x *apiv1.Experiment) any { return x.GetUsername() }},
		{Head: "STATE", Rank: 1, Value: func(x *apiv1.Experiment) any { return show.ExperimentState(x) }},
		{Head: ">PROGRESS", Rank: 3, Value: func(x *apiv1.Experiment) any { return formatPercent(x.GetProgress()) }},
		{Head: ">TRIALS", Rank: 5, Value: func(x *apiv1.Experiment) any { return x.GetNumTrials() }},
		{Head: "SEARCHER", Rank: 8, Value: func(x *apiv1.Experiment) any { return x.GetSearcherType() }},
		{Head: "BEST", Rank: 4, Shortest: 16, Value: func(x *apiv1.Experiment) any { return formatBest(x) }},
		{Head: "POOL", Rank: 9, Shortest: 8, Value: func(x *apiv1.Experiment) any { return x.GetResourcePool() }},
		{Head: "AGE", Rank: 3, Value: func(x *apiv1.Experiment) any { return show.When(x.GetStartTime()) }},
		{Head: "DURATION", Rank: 7, Value: func(x *apiv1.Experiment) any { return show.Between(x.GetStartTime(), x.GetEndTime(), time.Now()) }},
	}
}

func formatPercent(p *wrapperspb.DoubleValue) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("%.0f %%", p.GetValue()*100)
}

// formatBest returns the best value of the searcher metric.
func formatBest(x *apiv1.Experiment) string {
	if x.GetBestTrialSearcherMetric() == nil {
		return ""
	}
	return fmt.Sprintf("%s %.6g", x.GetSearcherMetric(), x.GetBestTrialSearcherMetric().GetValue())
}
