package trial

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type listOptions struct {
	command.Remote

	States []string
}

func newList(s *term.Streams) *cobra.Command {
	o := &listOptions{Remote: command.Remote{Names: client.Experiments}}
	c := command.NewList(s, o, command.List[*listOptions, *apiv1.Trial]{
		Fetch: fetchTrials,
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
		None: "No trials found.",
	}, &cobra.Command{
		Use: "list EXPERIMENT", Short: "List the trials of an experiment",
		Example: "  det-deploy trial list 7\n  det-deploy trial list 7 --state failed",
	})
	command.AddWordsFlag(c, &o.States, "state", states())
	return c
}

// states returns the values of --state.
func states() []string {
	return []string{"queued", "pulling", "starting", "running", "paused", "succeeded", "stopped_early", "failed", "killed"}
}

// Validate returns an error for a state that trials do not have.
func (o *listOptions) Validate() error { return command.CheckWords("state", o.States, states()) }

// fetchTrials requests the trials in the given states. A trial that was stopped early has succeeded for the
// API of Determined.
func fetchTrials(ctx context.Context, o *listOptions, master *client.Client) ([]*apiv1.Trial, error) {
	id, err := command.ReadNumber("experiment", o.Args[0])
	if err != nil {
		return nil, err
	}
	var asked []string
	for _, word := range o.States {
		if apiv1.Status(word) == apiv1.StatusStoppedEarly {
			word = string(apiv1.StatusSucceeded)
		}
		asked = append(asked, apiv1.StatesOf(apiv1.Status(word))...)
	}
	trials, err := master.ExperimentTrials(ctx, id, asked...)
	return slices.DeleteFunc(trials, func(x *apiv1.Trial) bool {
		return len(o.States) > 0 && !slices.Contains(o.States, x.GetStatus())
	}), err
}
