package aws

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

type credentialsOptions struct {
	*term.Streams
	Which

	Output term.Format
}

func newCredentials(s *term.Streams, run func(context.Context, *credentialsOptions) error) *cobra.Command {
	o := &credentialsOptions{Streams: s}
	c := &cobra.Command{
		Use:   "credentials",
		Short: "Show the first passwords of a cluster on AWS",
		Long: `Show the address and the passwords of admin and determined with which a cluster on
AWS was created, read from where the account keeps secrets. A password that was
changed since is not known there.`,
		Example: `  det-deploy aws credentials --cluster-id lab
  det-deploy aws credentials --cluster-id lab --output json`,
		Args: usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	o.addFlags(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

// credentials is the JSON form. It is the one answer that shows a secret: that is
// what was asked for.
type credentials struct {
	Schema   string `json:"schema"`
	URL      string `json:"url"`
	User     string `json:"user"`
	Password string `json:"password"`
	// DeterminedPassword is that of the user determined.
	DeterminedPassword string `json:"determined_password"`
}

func runCredentials(ctx context.Context, o *credentialsOptions) error {
	a, err := wire.NewAWS(ctx, o.Streams, o.request(o.Streams))
	if err != nil {
		return err
	}
	if !a.Known {
		return unknown(ctx, a)
	}
	c, err := a.Target.Credentials(ctx)
	if err != nil {
		return err
	}
	determined, err := a.Target.DeterminedPassword(ctx)
	if err != nil {
		return err
	}
	r := credentials{"det-deploy.aws-credentials/v1", c.URL, c.User, c.Password.Reveal(), determined.Reveal()}
	if o.Output == term.JSON {
		return o.PrintJSON(r)
	}
	return o.PrintPairs([2]string{"URL", r.URL}, [2]string{"user", r.User}, [2]string{"password", r.Password}, [2]string{"password of determined", r.DeterminedPassword})
}
