package ssh

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type proxyOptions struct {
	command.Remote

	Prefix  string
	Keys    string
	Prepare bool
}

// NewProxy returns `det-deploy ssh-proxy`, which ssh runs.
func NewProxy(s *term.Streams) *cobra.Command {
	o := &proxyOptions{}
	c := command.NewRemote(s, o, runProxy, &cobra.Command{
		Use:     "ssh-proxy HOST",
		Hidden:  true,
		Short:   "Connect ssh with a shell (internal)",
		Long:    "Connect standard input and output with the SSH server of a shell. The configuration that\ndet-deploy ssh-config prints runs it.",
		Example: "  det-deploy ssh-proxy --keys ~/.local/state/det-deploy/ssh/ID det-train",
	})
	addPrefixFlag(c, &o.Prefix)
	c.Flags().StringVar(&o.Keys, "keys", "", "directory for the keys of shells")
	c.Flags().BoolVar(&o.Prepare, "prepare", false, "write the key of the shell only")
	return c
}

// Validate checks the command line.
func (o *proxyOptions) Validate() error {
	if err := checkPrefix(o.Prefix); err != nil {
		return err
	}
	switch host := o.Args[0]; {
	case !filepath.IsAbs(o.Keys):
		return usage.Errorf("--keys %q: must be an absolute path", o.Keys)
	case !strings.HasPrefix(host, o.Prefix) || host == o.Prefix || !hostName.MatchString(host):
		return usage.Errorf("host %q: must be %sNAME, with the name or the ID of a running shell", host, o.Prefix)
	}
	return nil
}

// prepareTime is the time limit for fetching a key, while ssh waits without a word.
const prepareTime = 30 * time.Second

func runProxy(ctx context.Context, o *proxyOptions, master *client.Client) error {
	p := &proxy{options: o, master: master}
	if o.Prepare {
		limit, cancel := context.WithTimeout(ctx, prepareTime)
		defer cancel()
		return p.prepare(limit)
	}
	id, err := p.find(ctx)
	if err != nil {
		return err
	}
	if err := p.connect(ctx, id); err != nil {
		return exit.Followed(ctx, err)
	}
	limit, cancel := context.WithTimeout(ctx, prepareTime)
	defer cancel()
	_, err = p.list(limit) // the shell may have ended
	return exit.Followed(ctx, err)
}

// proxy connects one login.
type proxy struct {
	options *proxyOptions
	master  *client.Client
}

// list lists the shells, and removes the keys of ended ones.
func (p *proxy) list(ctx context.Context) ([]*apiv1.Shell, error) {
	list, err := p.master.Shells(ctx)
	if err != nil {
		return nil, err
	}
	return list, keys(p.options.Keys).prune(p.options.Prefix, func(name string) bool {
		return slices.ContainsFunc(list, func(s *apiv1.Shell) bool { return isRunning(s) && matchOf(s, name) != none })
	})
}

// find returns the ID of the shell.
func (p *proxy) find(ctx context.Context) (string, error) {
	me, err := p.master.Me(ctx)
	if err != nil {
		return "", err
	}
	list, err := p.list(ctx)
	if err != nil {
		return "", err
	}
	s, err := findShell(list, me.GetUsername(), strings.TrimPrefix(p.options.Args[0], p.options.Prefix))
	return s.GetId(), err
}

// prepare writes the key of the shell.
func (p *proxy) prepare(ctx context.Context) error {
	id, err := p.find(ctx)
	if err != nil {
		return err
	}
	s, err := p.master.Shell(ctx, id)
	switch {
	case err != nil:
		return err
	case s.GetShell().GetPrivateKey() == "":
		return fmt.Errorf("shell %s belongs to %s: only they and administrators may log in", id, s.GetShell().GetUsername())
	case s.GetHostKey() == "":
		return fmt.Errorf("the master does not tell its host key: upgrade it to the version of this det-deploy")
	}
	return keys(p.options.Keys).write(p.options.Args[0], s.GetShell().GetPrivateKey(), s.GetHostKey())
}

// connect copies in both directions until either end closes.
func (p *proxy) connect(ctx context.Context, id string) error {
	conn, err := p.master.DialShell(ctx, id)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGHUP) // ssh sends it at its end
	var left atomic.Bool
	go func() {
		_, _ = io.Copy(conn, p.options.In)
		left.Store(true)
		_ = conn.Close()
	}()
	_, err = io.Copy(p.options.Out, conn)
	_ = conn.Close()
	if err != nil && !left.Load() && ctx.Err() == nil {
		return fmt.Errorf("the connection to shell %s has ended: %w", id, err)
	}
	return ctx.Err()
}
