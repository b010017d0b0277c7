package experiment

import (
	"context"
	"errors"
	"path"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/directory"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment/config"
)

type createOptions struct {
	command.Remote

	ContextDir   string
	Paused       bool
	ValidateOnly bool
	Project      int32
	Template     string
}

func newCreate(s *term.Streams) *cobra.Command {
	o := &createOptions{}
	c := command.NewRemote(s, o, runCreate, &cobra.Command{
		Use: "create FILE", Short: "Create an experiment from a configuration file",
		Long: `Create an experiment from a configuration file, with the files of a directory, and
print its ID.`,
		Example: "  det-deploy experiment create train.yaml --context .\n  det-deploy experiment create train.yaml --validate",
	})
	f := c.Flags()
	f.StringVar(&o.ContextDir, "context", "", "directory to copy into the task's working directory")
	f.BoolVar(&o.Paused, "paused", false, "create the experiment paused")
	f.BoolVar(&o.ValidateOnly, "validate", false, "check the configuration and create nothing")
	f.Int32Var(&o.Project, "project-id", 0, "project ID (default as in the file)")
	f.StringVar(&o.Template, "template", "", "template that the configuration file overrides")
	o.CompleteFlag(c, "template", client.Templates)
	return c
}

// checkAbove is the size in bytes of a directory before which the configuration is checked, so that a
// mistake in it is reported before the directory is sent.
const checkAbove = 1 << 20

func runCreate(ctx context.Context, o *createOptions, master *client.Client) error {
	text, err := usage.ReadFile("the experiment's configuration", o.Args[0])
	if err != nil {
		return err
	}
	dir, err := directory.Scan(o.ContextDir)
	if err != nil {
		return err
	}
	if left := dir.LeftOut.String(); left != "" {
		o.Tell("%s", left)
	}
	in := &apiv1.CreateExperimentRequest{
		Config: string(text), Activate: !o.Paused, ValidateOnly: o.ValidateOnly, ProjectId: o.Project,
	}
	if o.Template != "" {
		in.Template = &o.Template
	}
	if err := o.sendFiles(ctx, master, dir, in); err != nil {
		return err
	}
	reply, err := master.CreateExperiment(ctx, in)
	if err != nil {
		return nameLines(err, o.Args[0])
	}
	if file := entryFile(text); file != "" && len(dir.Files) == 0 {
		o.Tell("Warning: the entrypoint runs %s, but no files are sent; send them with --context DIRECTORY, unless the image has them.", file)
	}
	tellWarnings(&o.Local, reply)
	if o.ValidateOnly {
		return o.AnswerNote(reply, "The configuration is valid.")
	}
	return o.AnswerLine(reply, "%d", reply.GetExperiment().GetId())
}

// tellWarnings prints the warnings about a new experiment.
func tellWarnings(o *command.Local, reply *apiv1.CreateExperimentResponse) {
	for _, w := range reply.GetConfigWarnings() {
		o.Tell("Warning: %s", w)
	}
	tellSlots(o, reply.GetWarnings())
}

// tellSlots prints a warning if the trials need more slots than there are.
func tellSlots(o *command.Local, warnings []apiv1.LaunchWarning) {
	if len(warnings) > 0 {
		o.Tell("Warning: trials need more slots than the resource pool has; they wait until it grows.")
	}
}

// nameLines returns err with the name of the file in place of "config", as which the master knows it.
func nameLines(err error, file string) error {
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		return err
	}
	named := *e
	named.Message = configLine.ReplaceAllString(e.Message, strings.ReplaceAll(file, "$", "$$")+":${1}")
	return &named
}

var configLine = regexp.MustCompile(`(?m)^config:(\d)`)

// sendFiles sends a directory and adds it to a request.
func (o *createOptions) sendFiles(ctx context.Context, master *client.Client, dir *directory.Directory, in *apiv1.CreateExperimentRequest) error {
	if o.ValidateOnly {
		return nil
	}
	if dir.Bytes > checkAbove {
		check := &apiv1.CreateExperimentRequest{Config: in.GetConfig(), ProjectId: in.GetProjectId(), Template: in.Template, ValidateOnly: true}
		if _, err := master.CreateExperiment(ctx, check); err != nil {
			return nameLines(err, o.Args[0])
		}
	}
	sent, err := command.SendDirectory(ctx, o.Streams, master, dir)
	in.ContextId, in.ModelDefinition = sent.ContextID, sent.Files
	return err
}

// entryFile returns the file of the working directory that an experiment's entrypoint runs, or "".
func entryFile(text []byte) string {
	var x config.Experiment
	d, err := config.Parse(text, "config", nil)
	if err != nil {
		return ""
	}
	_ = d.Decode(&x) // the master reports the errors
	if x.Entrypoint == nil {
		return ""
	}
	for _, word := range append(strings.Fields(x.Entrypoint.Line), x.Entrypoint.Args...) {
		script := path.Ext(word) == ".py" || path.Ext(word) == ".sh" || strings.HasPrefix(word, "./")
		if script && !path.IsAbs(word) && !strings.ContainsAny(word, "$:") {
			return word
		}
	}
	return ""
}
