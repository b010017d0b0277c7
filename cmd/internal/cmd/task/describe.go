package task

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type describeOptions struct {
	*term.Streams
	contexts.Target

	ID     string
	Output term.Format
}

func newDescribe(s *term.Streams, run func(context.Context, *describeOptions) error) *cobra.Command {
	o := &describeOptions{Streams: s}
	c := &cobra.Command{
		Use:     "describe TASK",
		Short:   "Show one task: what it is, why it waits, how it ended",
		Example: "  det-deploy task describe 5d1f6f2e-0f7e-4d8e-9d3b-0c3c1d1c2b3a",
		Args:    usage.Args("TASK"),
		RunE: func(c *cobra.Command, args []string) error {
			o.ID = args[0]
			return run(c.Context(), o)
		},
	}
	o.AddFlag(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

func runDescribe(ctx context.Context, o *describeOptions) error {
	master, err := o.Dial(o.Streams)
	if err != nil {
		return err
	}
	defer master.Close()
	reply, err := master.Command(ctx, o.ID)
	if err != nil {
		return err
	}
	if o.Output == term.JSON {
		return o.PrintMessage(reply)
	}
	c := reply.GetCommand()
	return o.PrintPairs(
		[2]string{"ID", c.GetId()},
		[2]string{"Name", c.GetDescription()},
		[2]string{"User", c.GetUsername()},
		[2]string{"State", stateOf(c.GetState())},
		[2]string{"Waits because", waits(c)},
		[2]string{"Pool", c.GetResourcePool()},
		[2]string{"Slots", slotsOf(reply)},
		[2]string{"Started", started(c)},
		[2]string{"Exit code", exitCode(c)},
		[2]string{"Ended", c.GetExitStatus()},
		[2]string{"Job", c.GetJobId()},
	)
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

// slotsOf is the devices that the task asked for, as its configuration says.
func slotsOf(r *apiv1.GetCommandResponse) string {
	v := r.GetConfig().GetFields()["resources"].GetStructValue().GetFields()["slots"]
	if v == nil {
		return ""
	}
	return formatNumber(v.GetNumberValue())
}
