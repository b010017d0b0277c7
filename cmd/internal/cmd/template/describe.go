package template

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
)

func newDescribe(s *term.Streams) *cobra.Command {
	return command.NewRemote(s, &command.Remote{Names: client.Templates}, runDescribe, &cobra.Command{
		Use: "describe TEMPLATE", Short: "Print the configuration of a template as YAML",
		Example: "  det-deploy template describe gpu > gpu.yaml",
	})
}

func runDescribe(ctx context.Context, o *command.Remote, master *client.Client) error {
	t, err := master.Template(ctx, o.Args[0])
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(t.GetConfig().AsMap())
	if err != nil {
		return err
	}
	return o.AnswerLine(t, "%s", strings.TrimSuffix(string(text), "\n"))
}
