package master

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

type showOptions struct {
	*term.Streams
	contexts.Target

	Output term.Format
}

func newShow(s *term.Streams, run func(context.Context, *showOptions) error) *cobra.Command {
	o := &showOptions{Streams: s}
	c := &cobra.Command{
		Use:     "show",
		Short:   "Show a master's configuration, without secrets",
		Long:    "Show a master's configuration, without secrets. Only an admin may look.",
		Example: "  det-deploy master config show",
		Args:    usage.Args(),
		RunE:    func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.AddFlag(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

func runShow(ctx context.Context, o *showOptions) error {
	master, err := o.Dial(o.Streams)
	if err != nil {
		return err
	}
	defer master.Close()
	reply, err := master.MasterConfig(ctx)
	if err != nil {
		return err
	}
	if o.Output == term.JSON {
		return o.PrintMessage(reply.GetConfig())
	}
	raw, err := yaml.Marshal(reply.GetConfig().AsMap())
	if err != nil {
		return fmt.Errorf("print the configuration: %w", err)
	}
	o.Printf("%s", strings.TrimSpace(string(raw)))
	return nil
}
