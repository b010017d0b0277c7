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
	return command.NewRemote(s, &command.Remote{}, runDescribe, &cobra.Command{
		Use: "describe TASK", Short: "Show one task: what it is, why it waits, how it ended",
		Example: "  det-deploy task describe 5d1f6f2e-0f7e-4d8e-9d3b-0c3c1d1c2b3a",
	})
}

func runDescribe(ctx context.Context, o *command.Remote, master *client.Client) error {
	reply, err := master.Command(ctx, o.Args[0])
	if err != nil {
		return err
	}
	c := reply.GetCommand()
	return o.AnswerPairs(reply,
		[2]string{"ID", c.GetId()},
		[2]string{"Name", c.GetDescription()},
		[2]string{"User", c.GetUsername()},
		[2]string{"State", show.Enum(c.GetState(), "STATE_")},
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
