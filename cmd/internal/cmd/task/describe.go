package task

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func newDescribe(s *term.Streams) *cobra.Command {
	return command.NewRemote(s, &command.Remote{Local: command.Local{Shows: true}, Names: client.Tasks}, runDescribe, &cobra.Command{
		Use: "describe TASK", Short: "Show a task, the tasks of an array, or the trial of a task",
		Example: "  det-deploy task describe 5d1f6f2e-0f7e-4d8e-9d3b-0c3c1d1c2b3a",
	})
}

func runDescribe(ctx context.Context, o *command.Remote, master *client.Client) error {
	reply, err := master.CommandDetail(ctx, o.Args[0])
	if client.KindOf(err) == client.NotFound {
		return describeArray(ctx, o, master, err)
	}
	if err != nil {
		return err
	}
	if err := o.AnswerPairs(reply, pairs(reply)...); err != nil {
		return err
	}
	return o.PrintLastLines("Last lines:", reply.GetLastLines())
}

// describeArray lists the tasks of an array, or describes the trial of a task. It returns noTask if there is
// neither.
func describeArray(ctx context.Context, o *command.Remote, master *client.Client, noTask error) error {
	list, err := master.ArrayCommands(ctx, o.Args[0])
	if client.KindOf(err) == client.NotFound {
		return describeTrial(ctx, o, master, noTask)
	}
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
		{"Command", c.GetCommandLine()},
		{"Labels", formatLabels(c.GetLabels())},
		{"State", show.TaskState(c)},
		{"Reason", c.GetReason()},
		{"Exit code", exitCode(c)},
		{"Queue", command.DescribeQueue(reply.GetQueue())},
		{"Slots held by", command.DescribeHolders(reply.GetQueue())},
		{"Preempted", describePreemption(c)},
		{"Pool", c.GetResourcePool()},
		{"Slots", slotsOf(reply)},
		{"Submitted", show.Time(c.GetStartTime())},
		{"Ended", show.Time(c.GetEndTime())},
		{"Job", c.GetJobId()},
	}
}

// describePreemption returns the latest preemption of a task that was queued again.
func describePreemption(c *apiv1.Command) string {
	if c.GetPreemption() == "" || c.GetPreemption() == c.GetReason() {
		return ""
	}
	return fmt.Sprintf("%s (this is attempt %d)", c.GetPreemption(), c.GetAttempts())
}

// slotsOf returns the number of slots in the task's configuration.
func slotsOf(r *apiv1.GetCommandResponse) string {
	v := r.GetConfig().GetFields()["resources"].GetStructValue().GetFields()["slots"]
	if v == nil {
		return ""
	}
	return formatNumber(v.GetNumberValue())
}
