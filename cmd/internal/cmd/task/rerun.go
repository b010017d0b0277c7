package task

import (
	"context"
	"crypto/rand"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/directory"
	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type rerunOptions struct{ attended }

func newRerun(s *term.Streams) *cobra.Command {
	o := &rerunOptions{attended{Remote: command.Remote{Names: client.Tasks}}}
	c := command.NewRemote(s, o, runRerun, &cobra.Command{
		Use:   "rerun TASK",
		Short: "Run a task again, as a new task",
		Long: `Launch a new task with the configuration and the files of another one, and show its output as
"task run" does. The defaults of the cluster that applied to the other task apply again. Passwords of
registries are not kept. Tasks of an array cannot be run again alone.`,
		Example: "  det-deploy task rerun 5d1f6f2e\n  det-deploy task rerun --detach train",
	})
	o.addAttendedFlags(c.Flags())
	return c
}

// Validate checks the flags.
func (o *rerunOptions) Validate() error {
	err := o.checkShown(o.Detach)
	if err == nil && !o.Output.IsText() && !o.Detach {
		err = usage.Errorf("--output %s: requires --detach, because the output is that of the task", o.Output)
	}
	if err != nil {
		return exit.With(exit.NotTheTask, err)
	}
	return nil
}

func runRerun(ctx context.Context, o *rerunOptions, master *client.Client) error {
	req, err := requestAgain(ctx, master, o.Args[0])
	if ctx.Err() != nil {
		return exit.Followed(ctx, err)
	}
	if err != nil {
		return exit.With(exit.NotTheTask, err)
	}
	return o.launch(ctx, master, req)
}

// requestAgain returns the request that launches a task again.
func requestAgain(ctx context.Context, master *client.Client, id string) (*apiv1.LaunchCommandRequest, error) {
	reply, err := master.Command(ctx, id)
	if err != nil {
		return nil, err
	}
	c, config := reply.GetCommand(), reply.GetConfig()
	if c.GetArrayId() != "" {
		return nil, usage.Errorf("task %s belongs to array %s, and its program expects the variables of an array; run the array again", id, c.GetArrayId())
	}
	if strings.HasPrefix(c.GetDescription(), generatedName) {
		delete(config.GetFields(), "description")
	}
	req := &apiv1.LaunchCommandRequest{Config: config, WorkspaceId: c.GetWorkspaceId(), RequestId: rand.Text(), Labels: c.GetLabels()}
	return req, addFiles(ctx, master, c, req)
}

// addFiles adds the files of a task to a request: the ID of its context, copied for the caller if it is of
// another user, or the files themselves.
func addFiles(ctx context.Context, master *client.Client, c *apiv1.Command, req *apiv1.LaunchCommandRequest) error {
	shown, err := master.Task(ctx, c.GetId())
	if err != nil {
		return err
	}
	if shown.GetContextId() != "" {
		me, err := master.Me(ctx)
		if err != nil {
			return err
		}
		if me.GetId() == c.GetUserId() {
			req.ContextId = shown.GetContextId()
			return nil
		}
		req.ContextId, err = master.CopyContext(ctx, c.GetId())
		if kind := client.KindOf(err); kind != client.NotFound && kind != client.Unbuilt {
			return err
		}
		req.ContextId = "" // a master of an earlier version
	}
	archive, err := master.ContextDirectory(ctx, c.GetId())
	if err == nil {
		req.Files, err = directory.Unpack(archive)
	}
	return err
}

// generatedName begins the names that a master generates.
const generatedName = "Command ("
