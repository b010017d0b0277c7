package master

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
)

func newShow(s *term.Streams) *cobra.Command {
	return command.NewRemote(s, &command.Remote{}, runShow, &cobra.Command{
		Use:     "show",
		Short:   "Show a master's configuration, without secrets",
		Long:    "Show a master's configuration, without secrets. For administrators only.",
		Example: "  det-deploy master config show",
	})
}

func runShow(ctx context.Context, o *command.Remote, master *client.Client) error {
	reply, err := master.MasterConfig(ctx)
	if err != nil {
		return err
	}
	raw, err := yaml.Marshal(reply.GetConfig().AsMap())
	if err != nil {
		return fmt.Errorf("cannot print the configuration: %w", err)
	}
	return o.AnswerLine(reply.GetConfig(), "%s", strings.TrimSpace(string(raw)))
}
