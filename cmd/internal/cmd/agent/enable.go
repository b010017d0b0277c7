package agent

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func newEnable(s *term.Streams) *cobra.Command {
	o := &agentOptions{}
	o.Names = client.Agents
	return o.addSelection(command.NewRemote(s, o, runEnable, &cobra.Command{
		Use: "enable [AGENT…]", Short: "Enable agents",
		Example: "  det-deploy agent enable i-0abc\n  det-deploy agent enable i-0abc --slot 3\n  det-deploy agent enable --all",
	}))
}

func runEnable(ctx context.Context, o *agentOptions, master *client.Client) error {
	return o.changeAgents(ctx, master, "Enabled", change{
		agent: func(id string) (*apiv1.Agent, error) { return master.EnableAgent(ctx, id) },
		slot:  func(id string) (*apiv1.Slot, error) { return master.EnableSlot(ctx, id, o.Slot) },
	})
}

type disableOptions struct {
	agentOptions

	Drain bool
}

func newDisable(s *term.Streams) *cobra.Command {
	o := &disableOptions{}
	o.Names = client.Agents
	c := o.addSelection(command.NewRemote(s, o, runDisable, &cobra.Command{
		Use:   "disable [AGENT…]",
		Short: "Disable agents, or drain them",
		Long: `Prevent tasks from starting on agents. Running tasks are killed, or, with --drain,
run to completion.`,
		Example: "  det-deploy agent disable i-0abc --drain\n  det-deploy agent disable i-0abc --slot 3\n  det-deploy agent disable --all --drain",
	}))
	c.Flags().BoolVar(&o.Drain, "drain", false, "let running tasks finish")
	return c
}

func runDisable(ctx context.Context, o *disableOptions, master *client.Client) error {
	did := "Disabled"
	if o.Drain {
		did = "Draining"
	}
	return o.changeAgents(ctx, master, did, change{
		agent: func(id string) (*apiv1.Agent, error) { return master.DisableAgent(ctx, id, o.Drain) },
		slot:  func(id string) (*apiv1.Slot, error) { return master.DisableSlot(ctx, id, o.Slot, o.Drain) },
	})
}
