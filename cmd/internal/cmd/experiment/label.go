package experiment

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type labelOptions struct {
	command.Remote

	Add, Remove []string
}

func newLabel(s *term.Streams) *cobra.Command {
	o := &labelOptions{}
	o.Names = client.Experiments
	c := command.NewRemote(s, o, runLabel, &cobra.Command{
		Use: "label EXPERIMENT…", Short: "Add labels to experiments, or remove them",
		Example: "  det-deploy experiment label 7 8 --add baseline,paper\n  det-deploy experiment label 7 --remove paper",
	})
	c.Flags().StringSliceVar(&o.Add, "add", nil, "labels to add")
	c.Flags().StringSliceVar(&o.Remove, "remove", nil, "labels to remove")
	return c
}

// Validate returns an error if there is nothing to change.
func (o *labelOptions) Validate() error {
	if len(o.Add)+len(o.Remove) == 0 {
		return usage.Errorf("nothing to change: use --add or --remove")
	}
	for _, label := range append(o.Add, o.Remove...) {
		if label == "" {
			return usage.Errorf("a label must not be empty")
		}
	}
	return nil
}

func runLabel(ctx context.Context, o *labelOptions, master *client.Client) error {
	return changeEach(ctx, &o.Remote, master, func(id int32) (string, error) {
		for _, label := range o.Add {
			if err := master.SetExperimentLabel(ctx, id, label, true); err != nil {
				return "", err
			}
		}
		for _, label := range o.Remove {
			if err := master.SetExperimentLabel(ctx, id, label, false); err != nil {
				return "", err
			}
		}
		return fmt.Sprintf("Labeled experiment %d.", id), nil
	})
}

func newMove(s *term.Streams) *cobra.Command {
	return command.NewMove(s, command.Move[*apiv1.Experiment]{
		Change: command.Change[*apiv1.Experiment]{
			Names: client.Experiments, Fetch: fetchExperiment,
			Reply: func(list []*apiv1.Experiment) any { return &apiv1.GetExperimentsResponse{Experiments: list} },
		},
		To: client.Projects,
		Do: func(ctx context.Context, master *client.Client, x *apiv1.Experiment, to int32) (*apiv1.Experiment, string, error) {
			if err := master.MoveExperiment(ctx, x.GetId(), to); err != nil {
				return nil, "", err
			}
			reply, err := master.Experiment(ctx, x.GetId())
			after := reply.GetExperiment()
			return after, fmt.Sprintf("Moved experiment %d to project %s/%s.", x.GetId(), after.GetWorkspaceName(), after.GetProjectName()), err
		},
	}, &cobra.Command{
		Use: "move EXPERIMENT…", Short: "Move experiments to another project",
		Example: "  det-deploy experiment move 7 8 --to vision/faces",
	})
}

func fetchExperiment(ctx context.Context, master *client.Client, text string) (*apiv1.Experiment, error) {
	reply, err := command.ByNumber(noun, (*client.Client).Experiment)(ctx, master, text)
	return reply.GetExperiment(), err
}
