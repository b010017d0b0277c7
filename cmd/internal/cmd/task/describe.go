package task

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

func newDescribe(s *term.Streams) *cobra.Command {
	return command.NewRemote(s, &command.Remote{Local: command.Local{Shows: true}, Names: client.Tasks}, runDescribe, &cobra.Command{
		Use: "describe TASK", Short: "Show a task, or the tasks of an array",
		Example: "  det-deploy task describe 5d1f6f2e-0f7e-4d8e-9d3b-0c3c1d1c2b3a",
	})
}

func runDescribe(ctx context.Context, o *command.Remote, master *client.Client) error {
	reply, err := master.Command(ctx, o.Args[0])
	if client.KindOf(err) == client.NotFound {
		return describeArray(ctx, o, master, err)
	}
	if err != nil {
		return err
	}
	return o.AnswerPairs(reply, pairs(reply)...)
}

// describeArray lists the tasks of an array. It returns noTask if there is no array with this ID.
func describeArray(ctx context.Context, o *command.Remote, master *client.Client, noTask error) error {
	list, err := findArray(ctx, master, o.Args[0], noTask)
	if err != nil {
		return err
	}
	return o.AnswerTable(&apiv1.GetCommandsResponse{Commands: list}, command.Tabulate(columns(), list))
}

func pairs(reply *apiv1.GetCommandResponse) [][2]string {
	c := reply.GetCommand()
	return [][2]string{
		{"ID", c.GetId()},
		{"Name", c.GetDescription()},
		{"User", c.GetUsername()},
		{"State", show.TaskState(c)},
		{"Reason", waits(c)},
		{"Pool", c.GetResourcePool()},
		{"Slots", slotsOf(reply)},
		{"Started", started(c)},
		{"Exit code", exitCode(c)},
		{"Ended", c.GetExitStatus()},
		{"Job", c.GetJobId()},
	}
}

func waits(c *apiv1.Command) string {
	if hasEnded(c) {
		return ""
	}
	return c.GetReason()
}

func started(c *apiv1.Command) string {
	if c.GetStartTime() == nil {
		return ""
	}
	return c.GetStartTime().AsTime().UTC().Format(time.RFC3339)
}

// slotsOf returns the number of slots in the task's configuration.
func slotsOf(r *apiv1.GetCommandResponse) string {
	v := r.GetConfig().GetFields()["resources"].GetStructValue().GetFields()["slots"]
	if v == nil {
		return ""
	}
	return formatNumber(v.GetNumberValue())
}
