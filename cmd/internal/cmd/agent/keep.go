package agent

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

type keepOptions struct {
	command.Base

	DataDir    string
	Docker     bool
	DockerHost string
}

// newKeep is what an agent runs beside itself; it is not for users.
func newKeep(s *term.Streams) *cobra.Command {
	o := &keepOptions{}
	c := command.New(s, o, runKeep, &cobra.Command{
		Use:   "keep",
		Short: "End tasks that are rerun elsewhere when the agent cannot (internal)",
		Long: `End tasks that are rerun elsewhere when the agent cannot (internal). An agent that
runs preemptible tasks starts this beside itself; it is of no use to people.`,
		Example: "  det-deploy agent keep --data-dir /var/lib/determined-agent",
		Hidden:  true,
	})
	f := c.Flags()
	f.StringVar(&o.DataDir, "data-dir", "", "directory of the agent")
	f.BoolVar(&o.Docker, "docker", false, "require a Docker engine")
	f.StringVar(&o.DockerHost, "docker-host", "", "address of the Docker engine (default its usual socket)")
	return c
}

func (o *keepOptions) Validate() error {
	if o.DataDir == "" {
		return usage.Errorf("--data-dir is missing")
	}
	return nil
}

func runKeep(ctx context.Context, o *keepOptions) error {
	return wire.KeepAgent(ctx, o.DataDir, o.Docker, o.DockerHost, o.Err)
}
