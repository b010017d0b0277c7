package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/record"
	target "github.com/det-deploy/det-deploy/installer/target/local"
)

// opened is a cluster on this machine.
type opened struct {
	*wire.Local
	*term.Streams

	Foreground bool
	// stop ends the supervisor that runs in this process, and stopped returns how it
	// ended.
	stop    context.CancelFunc
	stopped <-chan error
}

var _ cluster.Cluster = (*opened)(nil)

// Fits refuses to bring up a cluster that runs another program.
func (c *opened) Fits(context.Context) error {
	if err := c.Target.Fits(c.Record); err != nil {
		return err
	}
	if c.Recovered {
		c.Notef("The record of cluster %s was lost; its settings were read back from its files.", c.ID())
	}
	return nil
}

// Warn has nothing to add to a plan.
func (c *opened) Warn(context.Context, cluster.Verb) error { return nil }

// Up brings the cluster up, in this process where that was asked for.
func (c *opened) Up(ctx context.Context, p plan.Plan) error {
	if c.Foreground {
		return c.upInForeground(ctx)
	}
	return c.Local.Up(ctx, p)
}

// Releases are the release that the cluster runs and this program.
func (c *opened) Releases(context.Context) (runs, to record.Release, err error) {
	return c.Release, c.Target.Own, nil
}

// Absent says that there is nothing to remove.
func (c *opened) Absent(context.Context) []string {
	return []string{"Cluster " + c.ID() + " is not up."}
}

// Kept says nothing: the receipt names what was kept.
func (c *opened) Kept() string { return "" }

// Forget removes the context of the cluster.
func (c *opened) Forget(ctx context.Context) error {
	return cluster.Forget(ctx, c.Streams, c.ID(), func(k contexts.Context) bool { return leadsHere(k, c.Target.Spec.URL()) })
}

// leadsHere reports whether a context of the cluster's name is the cluster's, of which the
// master is at url, and not that of a cluster elsewhere.
func leadsHere(k contexts.Context, url string) bool { return k.Platform == "" || k.Master == url }

// Credentials are the passwords that the cluster was created with.
func (c *opened) Credentials(context.Context) (cluster.Access, error) {
	password, err := c.readPassword(c.Target.Place.Password())
	if err != nil {
		return cluster.Access{}, err
	}
	determined, err := c.readPassword(c.Target.Place.DeterminedPassword())
	return cluster.Access{URL: c.Target.Spec.URL(), User: "admin", Password: password, DeterminedPassword: determined}, err
}

func (c *opened) readPassword(file string) (string, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", &absentError{c.ID()}
	}
	if err != nil {
		return "", fmt.Errorf("read a password of cluster %s: %w", c.ID(), err)
	}
	return strings.TrimSpace(string(data)), nil
}

// idFlag is --cluster-id as the next command needs it.
func idFlag(id string) string {
	if id == target.DefaultCluster {
		return ""
	}
	return " --cluster-id " + id
}
