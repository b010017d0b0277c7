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

func newAdmit(s *term.Streams) *cobra.Command {
	return command.NewRemote(s, &command.Remote{}, runAdmit, &cobra.Command{
		Use:   "admit AGENT…",
		Short: "Restore revoked agents",
		Long: `Let revoked agents join again. Their previous credentials remain void: an agent needs
a join token, or proof of its identity if the master launched its machine. List
revoked agents with "det-deploy agent list --revoked".`,
		Example: "  det-deploy agent admit gpu-3",
	})
}

// admitted is the JSON output of admit.
type admitted struct {
	Admitted []string `json:"admitted"`
}

func runAdmit(ctx context.Context, o *command.Remote, master *client.Client) error {
	revoked, err := master.RevokedAgents(ctx)
	if err != nil {
		return err
	}
	done, err := command.ForEach(o.Args, func(id string) (string, error) {
		if !slices.ContainsFunc(revoked, func(a *apiv1.RevokedAgent) bool { return a.GetId() == id }) {
			o.Tell("Agent %s is not revoked.", id)
			return id, nil
		}
		err := master.AdmitAgent(ctx, id)
		if err == nil {
			o.Tell("Admitted agent %s. It may join again.", id)
		}
		return id, err
	})
	return errors.Join(err, o.AnswerJSON(admitted{done}))
}
