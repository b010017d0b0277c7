package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type setOptions struct {
	command.Remote

	Name, Description, Notes string
	Priority                 int
	Weight                   float64
	MaxSlots                 int32
	LogDays                  int32
	Keep                     keepCounts
}

func newSet(s *term.Streams) *cobra.Command {
	o := &setOptions{}
	o.Names = client.Experiments
	c := command.NewRemote(s, o, runSet, &cobra.Command{
		Use: "set EXPERIMENT…", Short: "Change the name, description, notes, resources or kept checkpoints of experiments",
		Long: `Change the name, description, notes, resources or kept checkpoints of experiments. Checkpoints
that --save-experiment-best, --save-trial-best and --save-trial-latest no longer keep are
deleted when the experiment ends, or now if it has ended. A number without a flag stays.`,
		Example: `  det-deploy experiment set 7 --name baseline --description "Without augmentation"
  det-deploy experiment set 7 8 --priority 10 --max-slots 4
  det-deploy experiment set 7 --save-experiment-best 3 --save-trial-best 0`,
	})
	f := c.Flags()
	f.StringVar(&o.Name, "name", "", "new name of the experiment")
	f.StringVar(&o.Description, "description", "", "description")
	f.StringVar(&o.Notes, "notes", "", "notes")
	f.IntVar(&o.Priority, "priority", 0, "priority from 1 to 99; on agents 1 is served first, on Kubernetes 99")
	f.Float64Var(&o.Weight, "weight", 0, "weight for fair-share scheduling")
	f.Int32Var(&o.MaxSlots, "max-slots", 0, "maximum slots of the experiment; 0 is unlimited")
	f.Int32Var(&o.LogDays, "log-retention-days", 0, "days for which the logs of its trials are kept; -1 is forever")
	o.Keep.addFlags(f)
	return c
}

// Validate returns an error if there is nothing to change, or for a number that is out of range.
func (o *setOptions) Validate() error {
	flags := append([]string{"name", "description", "notes", "priority", "weight", "max-slots", "log-retention-days"}, keepFlags()...)
	switch {
	case !slices.ContainsFunc(flags, o.Given):
		return usage.Errorf("nothing to change: use --%s", strings.Join(flags, ", --"))
	case o.Given("priority") && (o.Priority < 1 || o.Priority > 99):
		return usage.Errorf("--priority %d: must be from 1 to 99", o.Priority)
	case o.MaxSlots < 0:
		return usage.Errorf("--max-slots %d: must be 0 or more", o.MaxSlots)
	}
	return o.Keep.validate()
}

// patch returns the changes that the flags request, or nil if they change only the retention of logs.
func (o *setOptions) patch(ctx context.Context, master *client.Client, id int32) (*apiv1.PatchExperiment, error) {
	p, r := &apiv1.PatchExperiment{Id: id}, &apiv1.PatchExperiment_PatchResources{}
	text := func(flag, value string) *wrapperspb.StringValue {
		if !o.Given(flag) {
			return nil
		}
		return wrapperspb.String(value)
	}
	p.Name, p.Description, p.Notes = text("name", o.Name), text("description", o.Description), text("notes", o.Notes)
	if o.Given("priority") {
		r.Priority = new(int32(o.Priority)) // Validate has checked that it is from 1 to 99
	}
	if o.Given("weight") {
		r.Weight = &o.Weight
	}
	if o.Given("max-slots") {
		r.MaxSlots = structpb.NewNumberValue(float64(o.MaxSlots))
		if o.MaxSlots == 0 {
			r.MaxSlots = structpb.NewNullValue()
		}
	}
	if slices.ContainsFunc([]string{"priority", "weight", "max-slots"}, o.Given) {
		p.Resources = r
	}
	if slices.ContainsFunc(keepFlags(), o.Given) {
		reply, err := master.Experiment(ctx, id)
		if err != nil {
			return nil, err
		}
		p.CheckpointStorage = o.Keep.over(o.Given, reply.GetConfig())
	}
	if p.GetName() == nil && p.GetDescription() == nil && p.GetNotes() == nil && p.GetResources() == nil && p.GetCheckpointStorage() == nil {
		return nil, nil //nolint:nilnil // see above
	}
	return p, nil
}

func runSet(ctx context.Context, o *setOptions, master *client.Client) error {
	return changeEach(ctx, &o.Remote, master, func(id int32) (string, error) {
		p, err := o.patch(ctx, master, id)
		if err == nil && p != nil {
			_, err = master.PatchExperiment(ctx, p)
		}
		if err != nil {
			return "", err
		}
		if o.Given("log-retention-days") {
			if err := master.RetainExperimentLogs(ctx, id, o.LogDays); err != nil {
				return "", err
			}
		}
		return fmt.Sprintf("Updated experiment %d.", id), nil
	})
}

// changeEach calls do for each experiment, even if some calls fail, and answers with their new state. do
// returns a sentence about the change.
func changeEach(ctx context.Context, o *command.Remote, master *client.Client, do func(id int32) (string, error)) error {
	changed, err := command.ForEach(o.Args, func(text string) (*apiv1.Experiment, error) {
		id, err := command.ReadNumber(noun, text)
		if err != nil {
			return nil, err
		}
		done, err := do(id)
		if err != nil {
			return nil, err
		}
		o.Tell("%s", done)
		reply, err := master.Experiment(ctx, id)
		return reply.GetExperiment(), err
	})
	return errors.Join(err, o.AnswerJSON(&apiv1.GetExperimentsResponse{Experiments: changed}))
}
