package k8s

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
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
		Short: "Show the first passwords of a cluster on Kubernetes",
		Long: `Show the address and the passwords of admin and determined with which a cluster on
Kubernetes was created, read from the Secret in which they were made or the ones that
the values name. A password that was changed since is not known there.`,
		Example: `  det-deploy k8s credentials --cluster-id lab
  det-deploy k8s credentials --cluster-id lab --output json`,
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
	Schema string `json:"schema"`
	// URL is empty while the master has no address outside of Kubernetes; Forward is
	// the command that brings it here.
	URL      string `json:"url"`
	Forward  string `json:"forward"`
	User     string `json:"user"`
	Password string `json:"password"`
	// DeterminedPassword is that of the user determined.
	DeterminedPassword string `json:"determined_password"`
}

func runCredentials(ctx context.Context, o *credentialsOptions) error {
	k, err := o.open(ctx, o.Streams)
	if err != nil {
		return err
	}
	c, err := k.Target.Credentials(ctx)
	if err != nil {
		return err
	}
	determined, err := k.Target.DeterminedPassword(ctx)
	if err != nil {
		return err
	}
	e, err := k.Target.Endpoint(ctx)
	if err != nil {
		return err
	}
	r := credentials{"det-deploy.k8s-credentials/v1", e.URL, kubectl(e.Forward(k.Namespace()), o.Where), c.User, c.Password.Reveal(), determined.Reveal()}
	if o.Output == term.JSON {
		return o.PrintJSON(r)
	}
	url := r.URL
	if url == "" {
		url = e.Forwarded() + " while this runs: " + r.Forward
	}
	return o.PrintPairs([2]string{"URL", url}, [2]string{"user", r.User}, [2]string{"password", r.Password}, [2]string{"password of determined", r.DeterminedPassword})
}
