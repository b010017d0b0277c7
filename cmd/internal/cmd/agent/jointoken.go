package agent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// newJoinToken returns `det-deploy agent join-token`.
func newJoinToken(s *term.Streams) *cobra.Command {
	return command.NewNoun(s, "join-token", "Manage join tokens", "  det-deploy agent join-token create --pool default --uses 1\n  det-deploy agent join-token list",
		newCreateToken, newListTokens, newRevokeToken)
}

type createTokenOptions struct {
	command.Remote

	Pool string
	Life time.Duration
	Uses int
}

func newCreateToken(s *term.Streams) *cobra.Command {
	o := &createTokenOptions{}
	c := command.NewRemote(s, o, runCreateToken, &cobra.Command{
		Use:   "create",
		Short: "Create a token that lets machines join a pool",
		Long: `Create a token that lets machines join one resource pool until it expires, and with
--uses at most that number of machines. The token is printed once. It is a secret:
store it in a file that only root can read, and set join_token_file in agent.yaml to
the file.`,
		Example: "  det-deploy agent join-token create --pool default --uses 1 --valid-for 1h > join-token",
	})
	c.Flags().StringVar(&o.Pool, "pool", "default", "resource pool to join")
	c.Flags().DurationVar(&o.Life, "valid-for", 24*time.Hour, "lifetime of the token")
	c.Flags().IntVar(&o.Uses, "uses", 0, "maximum number of machines that may join; 0 is unlimited")
	o.CompleteFlag(c, "pool", client.Pools)
	return c
}

func (o *createTokenOptions) Validate() error {
	switch {
	case o.Life < time.Second:
		return errors.New("--valid-for: must be 1s or more")
	case o.Uses < 0 || o.Uses > math.MaxInt32:
		return errors.New("--uses: must be 0 or more, and fit into 32 bits")
	}
	return nil
}

func runCreateToken(ctx context.Context, o *createTokenOptions, master *client.Client) error {
	out, err := master.CreateJoinToken(ctx, &apiv1.CreateJoinTokenRequest{
		ResourcePool: o.Pool, ValidForSeconds: int64(o.Life / time.Second), Uses: int32(o.Uses), //nolint:gosec // validated
	})
	if err != nil {
		return err
	}
	return o.AnswerLine(out, "%s", out.GetToken())
}

func newListTokens(s *term.Streams) *cobra.Command {
	return command.NewList(s, &command.Remote{}, command.List[*command.Remote, *apiv1.JoinToken]{
		Fetch: func(ctx context.Context, _ *command.Remote, master *client.Client) ([]*apiv1.JoinToken, error) {
			return master.JoinTokens(ctx)
		},
		Reply: func(list []*apiv1.JoinToken) any { return &apiv1.GetJoinTokensResponse{JoinTokens: list} },
		Columns: []command.Column[*apiv1.JoinToken]{
			{Head: "ID", Value: func(x *apiv1.JoinToken) any { return x.GetId() }},
			{Head: "POOL", Rank: 3, Value: func(x *apiv1.JoinToken) any { return x.GetResourcePool() }},
			{Head: "STATE", Rank: 1, Value: func(x *apiv1.JoinToken) any { return tokenState(x) }},
			{Head: "USED", Rank: 2, Value: func(x *apiv1.JoinToken) any { return usesOf(x) }},
			{Head: "EXPIRES", Rank: 2, Value: func(x *apiv1.JoinToken) any { return show.When(x.GetExpiresAt()) }},
			{Head: "CREATED BY", Rank: 4, Shortest: 10, Value: func(x *apiv1.JoinToken) any { return x.GetCreatedBy() }},
			{Head: "LAST AGENT", Rank: 5, Shortest: 12, Value: func(x *apiv1.JoinToken) any { return x.GetLastAgent() }},
		},
		None: "No join tokens are in use.",
	}, &cobra.Command{
		Use:   "list",
		Short: "List the join tokens that have not expired",
		Long: `List the join tokens that have not expired, without the tokens themselves. A token of
"det-deploy master join-token" is listed from its first use on.`,
		Example: "  det-deploy agent join-token list",
	})
}

// tokenState returns the state of a join token: revoked, used or valid.
func tokenState(j *apiv1.JoinToken) string {
	switch {
	case j.GetRevokedAt() != nil:
		return "revoked"
	case j.GetUses() > 0 && j.GetUsed() >= j.GetUses():
		return "used"
	default:
		return "valid"
	}
}

func usesOf(j *apiv1.JoinToken) string {
	if j.GetUses() == 0 {
		return fmt.Sprint(j.GetUsed())
	}
	return fmt.Sprintf("%d/%d", j.GetUsed(), j.GetUses())
}

func newRevokeToken(s *term.Streams) *cobra.Command {
	return command.NewRemote(s, &command.Remote{}, runRevokeToken, &cobra.Command{
		Use:   "revoke TOKEN…",
		Short: "Revoke join tokens",
		Long: `Revoke join tokens by their IDs or their text. An unused token of
"det-deploy master join-token" can be revoked only by its text. Agents that have
joined stay connected; disconnect them with "det-deploy agent revoke".`,
		Example: "  det-deploy agent join-token revoke 4QJ7ZK2M5W3X6Y7A",
	})
}

func runRevokeToken(ctx context.Context, o *command.Remote, master *client.Client) error {
	revoked, err := command.ForEach(o.Args, func(name string) (*apiv1.JoinToken, error) {
		j, err := master.RevokeJoinToken(ctx, name)
		if err == nil {
			o.Tell("Revoked join token %s.", j.GetId())
		}
		return j, err
	})
	return errors.Join(err, o.AnswerJSON(&apiv1.GetJoinTokensResponse{JoinTokens: revoked}))
}
