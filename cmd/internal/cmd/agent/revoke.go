package agent

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type revokeOptions struct {
	*term.Streams
	contexts.Target

	IDs    []string
	Yes    bool
	Output term.Format
}

func newRevoke(s *term.Streams, run func(context.Context, *revokeOptions) error) *cobra.Command {
	o := &revokeOptions{Streams: s}
	c := &cobra.Command{
		Use:   "revoke AGENT…",
		Short: "Revoke agents' credentials",
		Long: `Revoke agents' credentials. The connection of an agent is cut
at once, its tasks are ended or queued again, and its credential is void. A
machine that the master launched is terminated. No join token and no proof of
identity lets the agent in again until "det-deploy agent admit" takes this back.`,
		Example: "  det-deploy agent revoke gpu-3\n  det-deploy agent revoke gpu-3 gpu-4 --yes",
		Args:    usage.Args("AGENT…"),
		RunE: func(c *cobra.Command, args []string) error {
			o.IDs = args
			return run(c.Context(), o)
		},
	}
	c.Flags().BoolVarP(&o.Yes, "yes", "y", false, "skip the confirmation")
	o.AddFlag(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

// revoked is one agent in the answer.
type revoked struct {
	ID string `json:"id"`
	// Connected says that it was.
	Connected bool `json:"connected"`
}

func runRevoke(ctx context.Context, o *revokeOptions) error {
	if ok, err := o.Agreed(ctx, o.Yes, "Revoke these agents? What runs on them is ended."); err != nil || !ok {
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
	done := []revoked{}
	var errs []error
	for _, id := range o.IDs {
		r, err := o.revokeAgent(ctx, master, there, id)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		done = append(done, r)
	}
	if o.Output == term.JSON {
		errs = append(errs, o.PrintJSON(struct {
			Revoked []revoked `json:"revoked"`
		}{done}))
	}
	return errors.Join(errs...)
}

func (o *revokeOptions) revokeAgent(ctx context.Context, master *client.Client, there []*apiv1.Agent, id string) (revoked, error) {
	r := revoked{ID: id, Connected: slices.ContainsFunc(there, func(a *apiv1.Agent) bool { return a.GetId() == id })}
	if err := master.RevokeAgent(ctx, id); err != nil {
		return r, err
	}
	switch {
	case o.Output == term.JSON:
	case r.Connected:
		o.Notef("Agent %s is revoked and disconnected. `det-deploy agent admit %s` lets it join again.", id, id)
	default:
		o.Notef("Agent %s is revoked. No agent of that name was connected. `det-deploy agent admit %s` lets it join.", id, id)
	}
	return r, nil
}
