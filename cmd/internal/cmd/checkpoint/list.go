package checkpoint

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type listOptions struct {
	command.Remote

	Experiment string
	Trial      string
	States     []string
}

// deleting is the state of checkpoints whose deletion was requested.
const deleting = "deleting"

// states lists the values of --state.
func states() []string {
	return []string{"active", "completed", deleting, "deleted", "error", "partially_deleted"}
}

func newList(s *term.Streams) *cobra.Command {
	o := &listOptions{}
	c := command.NewList(s, o, command.List[*listOptions, *apiv1.Checkpoint]{
		Fetch: fetchCheckpoints,
		Reply: func(list []*apiv1.Checkpoint) any { return &apiv1.GetCheckpointsResponse{Checkpoints: list} },
		Columns: []command.Column[*apiv1.Checkpoint]{
			{Head: "ID", Value: func(x *apiv1.Checkpoint) any { return term.ID(x.GetUuid()) }},
			{Head: ">EXPERIMENT", Rank: 4, Value: func(x *apiv1.Checkpoint) any { return x.GetTraining().GetExperimentId().GetValue() }},
			{Head: ">TRIAL", Rank: 3, Value: func(x *apiv1.Checkpoint) any { return x.GetTraining().GetTrialId().GetValue() }},
			{Head: ">STEPS", Rank: 2, Value: func(x *apiv1.Checkpoint) any { return stepsOf(x) }},
			{Head: "STATE", Rank: 1, Value: func(x *apiv1.Checkpoint) any { return stateOf(x) }},
			{Head: ">BYTES", Rank: 3, Value: func(x *apiv1.Checkpoint) any { return bytesOf(x) }},
			{Head: "AGE", Rank: 2, Value: func(x *apiv1.Checkpoint) any { return show.When(x.GetReportTime()) }},
			{Head: "REASON", Rank: 5, Shortest: 20, Value: func(x *apiv1.Checkpoint) any { return x.GetDeletion().GetFailure() }},
		},
		None: "No checkpoints found.",
	}, &cobra.Command{
		Use:   "list",
		Short: "List checkpoints, oldest first",
		Long: `List the checkpoints of an experiment, of a trial, or all. Checkpoints in the state
deleting wait for the task that deletes their files; a failed task is retried, and the
list shows the reason. States: active, completed, deleting, deleted, error,
partially_deleted.`,
		Example: "  det-deploy checkpoint list --experiment 7\n  det-deploy checkpoint list --state deleting",
	})
	c.Flags().StringVar(&o.Experiment, "experiment", "", "show only checkpoints of this experiment")
	c.Flags().StringVar(&o.Trial, "trial", "", "show only checkpoints of this trial")
	c.Flags().StringSliceVar(&o.States, "state", nil, "show only these states, such as active, completed or error")
	command.CompleteWords(c, "state", "active", "completed", "deleting", "deleted", "error", "partially_deleted")
	o.CompleteFlag(c, "experiment", client.Experiments)
	o.CompleteFlag(c, "trial", client.Trials)
	return c
}

func (o *listOptions) Validate() error {
	if o.Given("experiment") && o.Given("trial") {
		return usage.Errorf("use either --experiment or --trial")
	}
	for _, s := range o.States {
		if !slices.Contains(states(), s) {
			return usage.Errorf("--state %s: must be one of %s", s, strings.Join(states(), ", "))
		}
	}
	return nil
}

func fetchCheckpoints(ctx context.Context, o *listOptions, master *client.Client) ([]*apiv1.Checkpoint, error) {
	q := o.query()
	var err error
	if o.Experiment != "" {
		q.Experiment, err = command.ResolveNumber(ctx, master, client.Experiments, o.Experiment)
	}
	if o.Trial != "" {
		q.Trial, err = command.ResolveNumber(ctx, master, client.Trials, o.Trial)
	}
	if err != nil {
		return nil, err
	}
	return master.Checkpoints(ctx, q)
}

// query converts the flags except --experiment and --trial to a query.
func (o *listOptions) query() client.CheckpointQuery {
	q := client.CheckpointQuery{Deleting: len(o.States) == 1 && o.States[0] == deleting}
	for _, s := range o.States {
		if s == deleting { // the API of Determined reports such a checkpoint as active
			s = "active"
		}
		q.States = append(q.States, apiv1.Checkpoint_State(apiv1.Checkpoint_State_value["STATE_"+strings.ToUpper(s)]))
	}
	return q
}
