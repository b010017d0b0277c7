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
		Short: "Show the first passwords of a cluster on this machine",
		Long: `Show the address and the passwords of admin and determined with which a cluster on
this machine was created. A password that was changed since is not known here.`,
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
	// DeterminedPassword is that of the user determined.
	DeterminedPassword string `json:"determined_password"`
}

func runCredentials(ctx context.Context, o *credentialsOptions) error {
	l, err := wire.NewLocal(ctx, o.Streams, o.Cluster, nil, nil)
	if err != nil {
		return err
	}
	password, err := o.read(l.Target.Place.Password())
	if err != nil {
		return err
	}
	determined, err := o.read(l.Target.Place.DeterminedPassword())
	if err != nil {
		return err
	}
	r := credentials{"det-deploy.local-credentials/v1", l.Target.Spec.URL(), "admin", password, determined}
	if o.Output == term.JSON {
		return o.PrintJSON(r)
	}
	return o.PrintPairs([2]string{"URL", r.URL}, [2]string{"user", r.User}, [2]string{"password", r.Password}, [2]string{"password of determined", r.DeterminedPassword})
}

// read reads the file of a password.
func (o *credentialsOptions) read(file string) (string, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", &absentError{o.Cluster}
	}
	if err != nil {
		return "", fmt.Errorf("read a password of cluster %s: %w", o.Cluster, err)
	}
	return strings.TrimSpace(string(data)), nil
}
