package agent

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// agentOptions selects the agents, or a single slot of one agent, that a command changes.
type agentOptions struct {
	command.Remote

	All  bool
	Slot string
}

func (o *agentOptions) addSelection(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVarP(&o.All, "all", "a", false, "all agents")
	c.Flags().StringVar(&o.Slot, "slot", "", "slot to change instead of the whole agent")
	return c
}

func (o *agentOptions) Validate() error {
	switch {
	case o.All && len(o.Args) > 0:
		return usage.Errorf("use either --all or AGENT")
	case !o.All && len(o.Args) == 0:
		return usage.Errorf("AGENT is missing; use --all for every agent")
	case o.Slot != "" && len(o.Args) != 1:
		return usage.Errorf("--slot: requires exactly one AGENT")
	}
	return nil
}

// change is an operation on an agent or on a slot.
type change struct {
	agent func(id string) (*apiv1.Agent, error)
	slot  func(id string) (*apiv1.Slot, error)
}

// changeAgents applies an operation to the selected agents. It prints each changed agent, even if other
// changes fail.
func (o *agentOptions) changeAgents(ctx context.Context, master *client.Client, did string, do change) error {
	if o.Slot != "" {
		slots, err := command.ForEach(o.Args, func(id string) (*apiv1.Slot, error) {
			slot, err := do.slot(id)
			if err == nil {
				o.Tell("%s slot %s of agent %s.", did, o.Slot, id)
			}
			return slot, err
		})
		return errors.Join(err, o.AnswerJSON(&apiv1.GetSlotsResponse{Slots: slots}))
	}
	ids, listErr := o.listIDs(ctx, master)
	agents, err := command.ForEach(ids, func(id string) (*apiv1.Agent, error) {
		agent, err := do.agent(id)
		if err == nil {
			o.Tell("%s agent %s.", did, id)
		}
		return agent, err
	})
	return errors.Join(listErr, err, o.AnswerJSON(&apiv1.GetAgentsResponse{Agents: agents}))
}

func (o *agentOptions) listIDs(ctx context.Context, master *client.Client) ([]string, error) {
	if !o.All {
		return o.Args, nil
	}
	var ids []string
	agents, err := master.Agents(ctx)
	for _, a := range agents {
		ids = append(ids, a.GetId())
	}
	return ids, err
}
