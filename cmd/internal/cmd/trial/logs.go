package trial

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
)

func newLogs(s *term.Streams) *cobra.Command {
	o := &command.LogOptions{Remote: command.Remote{Names: client.Trials}}
	c := command.NewRemote(s, o, runLogs, &cobra.Command{
		Use: "logs TRIAL", Short: "Show a trial's logs",
		Long: `Show the logs of all runs of a trial. With --output json, each line is an object in the
format of the API.`,
		Example: "  det-deploy trial logs 12 --tail 50\n  det-deploy trial logs --follow --rank 0 12",
	})
	o.AddLogFlags(c, "trial")
	return c
}

func runLogs(ctx context.Context, o *command.LogOptions, master *client.Client) error {
	id, err := command.ReadNumber(noun, o.Args[0])
	if err != nil {
		return err
	}
	return command.PrintLog(ctx, &o.Local, master.TrialLogs(ctx, id, o.LogQuery))
}
