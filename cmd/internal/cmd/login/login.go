// Package login implements the commands that start and end a user's session with a master.
package login

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

type loginOptions struct {
	command.Remote

	Name          string
	CAFile        string
	Fingerprint   string
	PasswordStdin bool
}

// New returns `det-deploy login`.
func New(s *term.Streams) *cobra.Command {
	o := &loginOptions{}
	c := command.New(s, o, runLogin, &cobra.Command{
		Use:   "login USER",
		Short: "Log in to a cluster and save it as a context",
		Long: `Log in to a cluster and save it as a context.

If no known authority signed the master's certificate, the certificate must be trusted
by --fingerprint or --ca-file, or by comparing the displayed fingerprint with the one in
the master's log or in the output of "det-deploy local up".`,
		Example: `  det-deploy login admin
  det-deploy login ada --master https://det.example.com:8443 --name lab
  det-deploy login ci --password-stdin < password.txt`,
	})
	c.Flags().StringVar(&o.Name, "name", "", "name of the context (default the master's cluster name or host)")
	c.Flags().StringVar(&o.CAFile, "ca-file", "", "CA file that signs the master's certificate")
	c.Flags().StringVar(&o.Fingerprint, "fingerprint", "", "SHA-256 of the master's certificate")
	c.Flags().BoolVar(&o.PasswordStdin, "password-stdin", false, "read the password from standard input")
	return c
}

func (o *loginOptions) Validate() error {
	if o.CAFile != "" && o.Fingerprint != "" {
		return usage.Errorf("use either --ca-file or --fingerprint")
	}
	return nil
}

func runLogin(ctx context.Context, o *loginOptions) error {
	c, named, err := o.Resolve(o.Streams)
	if err != nil {
		return err
	}
	if c, err = o.trustMaster(ctx, c); err != nil {
		return err
	}
	password, err := o.password(ctx)
	if err != nil {
		return err
	}
	if c, err = o.session(ctx, c, password); err != nil {
		return err
	}
	switch {
	case o.Name != "":
		c.Name = o.Name
	case !named:
		c.Name = nameFor(c)
	}
	f, err := contexts.Default(o.Getenv)
	if err != nil {
		return err
	}
	if b, err := f.Load(); err != nil {
		return err
	} else if old, taken := b.Get(c.Name); taken && old.Master != c.Master {
		return usage.Errorf("context %s belongs to another master, %s: choose another name with --name", c.Name, old.Master)
	}
	if err := f.Save(ctx, c); err != nil {
		return err
	}
	if err := o.AnswerNote(c, "Logged in to %s as %s. Switched to context %q.", c.Master, c.User, c.Name); err != nil {
		return err
	}
	return o.warnOverridden(f, c)
}

// warnOverridden tells that DET_MASTER selects another master than the new context.
func (o *loginOptions) warnOverridden(f contexts.File, c contexts.Context) error {
	b, err := f.Load()
	if err != nil {
		return err
	}
	if text := b.Overridden(o.Getenv, c.Name); text != "" {
		o.Tell("%s", text)
	}
	return nil
}

// password reads the password from stdin or prompts for it.
func (o *loginOptions) password(ctx context.Context) (string, error) {
	if o.PasswordStdin {
		return o.ReadSecret()
	}
	return o.Password(ctx, term.Question{Text: "Password for " + o.Args[0] + ":", Flag: "--password-stdin"})
}

// session logs in and returns c with the session and the name of the cluster.
func (o *loginOptions) session(ctx context.Context, c contexts.Context, password string) (contexts.Context, error) {
	c.Token = ""
	master, err := c.Client()
	if err != nil {
		return c, err
	}
	defer master.Close()
	reply, err := master.Login(ctx, o.Args[0], password)
	if err != nil {
		return c, explainRefusal(err, o.Args[0])
	}
	c.User, c.Token = reply.GetUser().GetUsername(), contexts.Token(reply.GetToken())
	about, err := master.Master(ctx)
	if err != nil {
		return c, err
	}
	c.Cluster = about.GetClusterId()
	if c.Name == "" {
		c.Name = about.GetClusterName()
	}
	return c, nil
}

// readCA reads the file with the certificate authority.
func readCA(path string) (string, error) {
	raw, err := usage.ReadFile("the CA file", path)
	return string(raw), err
}
