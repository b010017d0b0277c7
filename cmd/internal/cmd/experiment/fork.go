package experiment

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/directory"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type forkOptions struct {
	command.Remote

	Overrides  []string
	ContextDir string
	Template   string
	To         string
	Paused     bool
}

func newFork(s *term.Streams) *cobra.Command {
	o := &forkOptions{}
	o.Names = client.Experiments
	c := command.NewRemote(s, o, runFork, &cobra.Command{
		Use: "fork EXPERIMENT", Short: "Create an experiment from the configuration and files of another one",
		Long: `Create an experiment from the configuration and files that another one was created with,
and print its ID. Its trials begin anew. It is created in the same project, unless the
configuration or --to names another one. If the other one was created with a template,
name the template again. --context sends other files.`,
		Example: `  det-deploy experiment fork 7 --override hyperparameters.lr=0.01
  det-deploy experiment fork 7 --override name=baseline-2 --to vision/faces
  det-deploy experiment fork 7 --context .`,
	})
	f := c.Flags()
	addOverrides(c, &o.Overrides, "experiment's configuration")
	f.StringVar(&o.ContextDir, "context", "", "directory to send instead of the files of the other experiment")
	f.StringVar(&o.Template, "template", "", "template that the configuration overrides")
	f.StringVar(&o.To, "to", "", "project of the new experiment, its name or ID")
	f.BoolVar(&o.Paused, "paused", false, "create the experiment paused")
	o.CompleteFlag(c, "to", client.Projects)
	o.CompleteFlag(c, "template", client.Templates)
	return c
}

// hiddenError reports an experiment whose configuration the user may not read.
type hiddenError struct {
	id    int32
	owner string
}

func (e *hiddenError) Error() string {
	return fmt.Sprintf("experiment %d belongs to %s: only its owner and administrators can fork it", e.id, e.owner)
}

// sendFiles sends the directory of --context and adds it to a request.
func (o *forkOptions) sendFiles(ctx context.Context, master *client.Client, in *apiv1.CreateExperimentRequest) error {
	dir, err := directory.Scan(o.ContextDir)
	if err != nil {
		return err
	}
	if o.ContextDir != "" && len(dir.Files) == 0 {
		return usage.Errorf("--context %s: has no files to send", o.ContextDir)
	}
	if left := dir.LeftOut.String(); left != "" {
		o.Tell("%s", left)
	}
	sent, err := command.SendDirectory(ctx, o.Streams, master, dir)
	in.ContextId, in.ModelDefinition = sent.ContextID, sent.Files
	return err
}

func runFork(ctx context.Context, o *forkOptions, master *client.Client) error {
	parent, err := fetchExperiment(ctx, master, o.Args[0])
	if err != nil {
		return err
	}
	if parent.GetOriginalConfig() == "" {
		return &hiddenError{parent.GetId(), parent.GetUsername()}
	}
	in := &apiv1.CreateExperimentRequest{ParentId: parent.GetId(), Activate: !o.Paused}
	if in.Config, err = overlay(parent.GetOriginalConfig(), o.Overrides); err != nil {
		return err
	}
	if o.Template != "" {
		in.Template = &o.Template
	}
	if o.To != "" {
		if in.ProjectId, err = command.ResolveNumber(ctx, master, client.Projects, o.To); err != nil {
			return err
		}
	}
	if err := o.sendFiles(ctx, master, in); err != nil {
		return err
	}
	reply, err := master.CreateExperiment(ctx, in)
	if err != nil {
		return err
	}
	tellWarnings(&o.Local, reply)
	return o.AnswerLine(reply, "%d", reply.GetExperiment().GetId())
}
