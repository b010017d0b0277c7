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
	c.Flags().StringVar(&o.Slot, "slot", "", "change only this slot")
	return c
}

func (o *agentOptions) Validate() error {
	switch {
	case o.All && len(o.Args) > 0:
		return usage.Errorf("--all and names of agents exclude each other")
	case !o.All && len(o.Args) == 0:
		return usage.Errorf("AGENT is missing; --all selects every agent")
	case o.Slot != "" && len(o.Args) != 1:
		return usage.Errorf("--slot needs exactly one AGENT")
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
func (o *agentOptions) changeAgents(ctx context.Context, master *client.Client, state string, do change) error {
	if o.Slot != "" {
		slots, err := command.ForEach(o.Args, func(id string) (*apiv1.Slot, error) {
			slot, err := do.slot(id)
			if err == nil {
				o.Tell("Slot %s of agent %s is %s.", o.Slot, id, state)
			}
			return slot, err
		})
		return errors.Join(err, o.AnswerJSON(&apiv1.GetSlotsResponse{Slots: slots}))
	}
	ids, listErr := o.listIDs(ctx, master)
	agents, err := command.ForEach(ids, func(id string) (*apiv1.Agent, error) {
		agent, err := do.agent(id)
		if err == nil {
			o.Tell("Agent %s is %s.", id, state)
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
