package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

type credentialsOptions struct {
	*term.Streams
	which

	Output term.Format
}

func newCredentials(s *term.Streams, run func(context.Context, *credentialsOptions) error) *cobra.Command {
	o := &credentialsOptions{Streams: s}
	c := &cobra.Command{
		Use:   "credentials",
		Short: "Show the first password of a cluster on this machine",
		Long: `Show the address, the user and the password with which a cluster on this machine
was created. A password that was changed since is not known here.`,
		Example: `  det-deploy local credentials
  det-deploy local credentials --output json`,
		Args: usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	o.addFlag(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

// credentials is the JSON form. It is the one answer that shows a secret: that
// is what was asked for.
type credentials struct {
	Schema   string `json:"schema"`
	URL      string `json:"url"`
	User     string `json:"user"`
	Password string `json:"password"`
}

func runCredentials(ctx context.Context, o *credentialsOptions) error {
	l, err := wire.NewLocal(ctx, o.Streams, o.Cluster, nil, nil)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(l.Target.Place.Password())
	if errors.Is(err, fs.ErrNotExist) {
		return &absentError{o.Cluster}
	}
	if err != nil {
		return fmt.Errorf("read the password of cluster %s: %w", o.Cluster, err)
	}
	r := credentials{"det-deploy.local-credentials/v1", l.Target.Spec.URL(), "admin", strings.TrimSpace(string(data))}
	if o.Output == term.JSON {
		return o.PrintJSON(r)
	}
	return o.PrintPairs([2]string{"URL", r.URL}, [2]string{"user", r.User}, [2]string{"password", r.Password})
}
