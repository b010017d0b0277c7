package agent

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type revokeOptions struct {
	command.Remote

	Yes bool
}

func newRevoke(s *term.Streams) *cobra.Command {
	o := &revokeOptions{}
	o.Names = client.Agents // for completion; a revocation takes whole IDs
	c := command.New(s, o, runRevoke, &cobra.Command{
		Use:   "revoke AGENT…",
		Short: "Revoke agents' credentials",
		Long: `Revoke agents' credentials. The agents are disconnected, their tasks are killed or
queued again, and machines that the master launched are terminated. Revoked agents
cannot join again, neither with a join token nor with proof of identity, until
"det-deploy agent admit".`,
		Example: "  det-deploy agent revoke gpu-3\n  det-deploy agent revoke gpu-3 gpu-4 --yes",
	})
	c.Flags().BoolVarP(&o.Yes, "yes", "y", false, "skip the confirmation")
	return c
}

// revoked is an agent in the JSON output of revoke.
type revoked struct {
	ID string `json:"id"`
	// Connected reports whether the agent was connected.
	Connected bool `json:"connected"`
}

func runRevoke(ctx context.Context, o *revokeOptions) error {
	if ok, err := o.Agreed(ctx, o.Yes, "Revoke these agents? Their tasks are killed or queued again."); err != nil || !ok {
		return err
	}
	master, err := o.Dial(o.Streams)
	if err != nil {
		return err
	}
	defer master.Close()
	there, err := master.Agents(ctx)
	if err != nil {
		return err
	}
	done, err := command.ForEach(o.Args, func(id string) (revoked, error) {
		return o.revokeAgent(ctx, master, there, id)
	})
	return errors.Join(err, o.AnswerJSON(struct {
		Revoked []revoked `json:"revoked"`
	}{done}))
}

func (o *revokeOptions) revokeAgent(ctx context.Context, master *client.Client, there []*apiv1.Agent, id string) (revoked, error) {
	r := revoked{ID: id, Connected: slices.ContainsFunc(there, func(a *apiv1.Agent) bool { return a.GetId() == id })}
	if err := master.RevokeAgent(ctx, id); err != nil {
		return r, err
	}
	if r.Connected {
		o.Tell("Revoked and disconnected agent %s. To let it join again: `det-deploy agent admit %s`", id, id)
	} else {
		o.Tell("Revoked agent %s, which was not connected. To let it join: `det-deploy agent admit %s`", id, id)
	}
	return r, nil
}
