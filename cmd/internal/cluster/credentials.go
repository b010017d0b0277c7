package cluster

import (
	"cmp"
	"context"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

type credentialsOptions struct{ selected }

func credentialsHelp() Help {
	return Help{
		Short: "Show the initial passwords of a cluster on {on}",
		Long: `Show the address of a cluster on {on} and the initial passwords of the users admin
and determined, read from the account's secret store. Passwords that were changed
since are not shown.`,
		Example: `  det-deploy {name} credentials --cluster-id lab
  det-deploy {name} credentials --cluster-id lab --output json`,
	}
}

// Access is the JSON output of credentials, the only command that prints secrets.
type Access struct {
	Schema string `json:"schema"`
	URL    string `json:"url"`
	// Forward is the command that forwards a port to a master without a URL.
	Forward  string `json:"forward,omitempty"`
	User     string `json:"user"`
	Password string `json:"password"`
	// DeterminedPassword is the password of the user determined.
	DeterminedPassword string `json:"determined_password"`
	// Reached describes how to reach a master that has no URL.
	Reached string `json:"-"`
}

func (o *credentialsOptions) run(ctx context.Context) error {
	c, err := o.Open(ctx, Request{Verb: o.verb})
	if err != nil {
		return err
	}
	r, err := c.Credentials(ctx)
	if err != nil {
		return err
	}
	r.Schema = schemaName(o.platform, o.verb)
	return printAnswer(o.Streams, o.Output, r)
}

// Print writes one pair per line.
func (a Access) Print(s *term.Streams) error {
	return s.PrintPairs(
		[2]string{"URL", cmp.Or(a.URL, a.Reached)}, [2]string{"user", a.User}, [2]string{"password", a.Password},
		[2]string{"password of determined", a.DeterminedPassword},
	)
}
