package master

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
)

func newInfo(s *term.Streams) *cobra.Command {
	return command.NewRemote(s, &command.Remote{}, runInfo, &cobra.Command{
		Use: "info", Short: "Print a master's name and version", Example: "  det-deploy master info --output json",
	})
}

func runInfo(ctx context.Context, o *command.Remote, master *client.Client) error {
	about, err := master.Master(ctx)
	if err != nil {
		return err
	}
	return o.AnswerPairs(about,
		[2]string{"Address", master.URL()},
		[2]string{"Cluster", about.GetClusterName()},
		[2]string{"Cluster ID", about.GetClusterId()},
		[2]string{"Master ID", about.GetMasterId()},
		[2]string{"API version", about.GetVersion()},
	)
}
