package agent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// newJoinToken returns `det-deploy agent join-token`.
func newJoinToken(s *term.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:     "join-token",
		Short:   "Manage join tokens",
		Example: "  det-deploy agent join-token create --pool default --uses 1\n  det-deploy agent join-token list",
	}
	c.AddCommand(newCreateToken(s, runCreateToken), newListTokens(s, runListTokens), newRevokeToken(s, runRevokeToken))
	return c
}

type createTokenOptions struct {
	*term.Streams
	contexts.Target

	Pool   string
	Life   time.Duration
	Uses   int
	Output term.Format
}

func newCreateToken(s *term.Streams, run func(context.Context, *createTokenOptions) error) *cobra.Command {
	o := &createTokenOptions{Streams: s}
	c := &cobra.Command{
		Use:   "create",
		Short: "Create a token that lets machines join a pool",
		Long: `Create a token that lets machines join one resource pool until it expires, and
with --uses no more machines than that. It is printed once and is a secret: put
it in a file that only root can read, and name the file in agent.yaml as
join_token_file.`,
		Example: "  det-deploy agent join-token create --pool default --uses 1 --valid-for 1h > join-token",
		Args:    usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return usage.Check(err)
			}
			return run(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.Pool, "pool", "default", "resource pool to join")
	c.Flags().DurationVar(&o.Life, "valid-for", 24*time.Hour, "lifetime of the token")
	c.Flags().IntVar(&o.Uses, "uses", 0, "maximum number of machines that may join with it; 0 is unlimited")
	o.AddFlag(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

func (o *createTokenOptions) validate() error {
	switch {
	case o.Life < time.Second:
		return errors.New("--valid-for: must be 1s or more")
	case o.Uses < 0 || o.Uses > math.MaxInt32:
		return errors.New("--uses: must not be negative, and be a number of machines")
	}
	return nil
}

func runCreateToken(ctx context.Context, o *createTokenOptions) error {
	master, err := o.Dial(o.Streams)
	if err != nil {
		return err
	}
	defer master.Close()
	out, err := master.CreateJoinToken(ctx, &apiv1.CreateJoinTokenRequest{
		ResourcePool: o.Pool, ValidForSeconds: int64(o.Life / time.Second), Uses: int32(o.Uses), //nolint:gosec // validated
	})
	if err != nil {
		return err
	}
	if o.Output == term.JSON {
		return o.PrintMessage(out)
	}
	o.Printf("%s", out.GetToken())
	return nil
}

type listTokensOptions struct {
	*term.Streams
	contexts.Target

	Output term.Format
}

func newListTokens(s *term.Streams, run func(context.Context, *listTokensOptions) error) *cobra.Command {
	o := &listTokensOptions{Streams: s}
	c := &cobra.Command{
		Use:   "list",
		Short: "List the join tokens that have not expired",
		Long: `List the join tokens that have not expired. The tokens themselves are not kept.
One that "det-deploy master join-token" printed is listed from its first use on.`,
		Example: "  det-deploy agent join-token list",
		Args:    usage.Args(),
		RunE:    func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.AddFlag(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

func runListTokens(ctx context.Context, o *listTokensOptions) error {
	master, err := o.Dial(o.Streams)
	if err != nil {
		return err
	}
	defer master.Close()
	list, err := master.JoinTokens(ctx)
	if err != nil {
		return err
	}
	if o.Output == term.JSON {
		return o.PrintMessage(&apiv1.GetJoinTokensResponse{JoinTokens: list})
	}
	t := term.NewTable("ID", "POOL", "STATE", "USED", "EXPIRES", "CREATED BY", "LAST AGENT")
	for _, j := range list {
		t.Row(j.GetId(), j.GetResourcePool(), tokenState(j), usesOf(j), localTime(j.GetExpiresAt()), j.GetCreatedBy(), j.GetLastAgent())
	}
	return o.PrintTable(t)
}

// tokenState is a join token in one word.
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

func localTime(at *timestamppb.Timestamp) string { return at.AsTime().Local().Format(time.DateTime) }

type revokeTokenOptions struct {
	*term.Streams
	contexts.Target

	Names  []string
	Output term.Format
}

func newRevokeToken(s *term.Streams, run func(context.Context, *revokeTokenOptions) error) *cobra.Command {
	o := &revokeTokenOptions{Streams: s}
	c := &cobra.Command{
		Use:   "revoke TOKEN…",
		Short: "Revoke join tokens",
		Long: `Revoke join tokens, named by their ids or by their whole text: one that
"det-deploy master join-token" printed and no agent has used is known by its text
only. Agents that have joined stay; "det-deploy agent revoke" ends them.`,
		Example: "  det-deploy agent join-token revoke 4QJ7ZK2M5W3X6Y7A",
		Args:    usage.Args("TOKEN…"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Names = args
			return run(c.Context(), o)
		},
	}
	o.AddFlag(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

func runRevokeToken(ctx context.Context, o *revokeTokenOptions) error {
	master, err := o.Dial(o.Streams)
	if err != nil {
		return err
	}
	defer master.Close()
	out := &apiv1.GetJoinTokensResponse{}
	var errs []error
	for _, name := range o.Names {
		j, err := master.RevokeJoinToken(ctx, name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out.JoinTokens = append(out.JoinTokens, j)
		if o.Output != term.JSON {
			o.Notef("Join token %s is revoked.", j.GetId())
		}
	}
	if o.Output == term.JSON {
		errs = append(errs, o.PrintMessage(out))
	}
	return errors.Join(errs...)
}
