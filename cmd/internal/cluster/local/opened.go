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

// opened implements cluster.Cluster for this machine.
type opened struct {
	*wire.Local
	*term.Streams

	Foreground bool
	// stop ends the supervisor that runs in this process, and stopped receives its error.
	stop    context.CancelFunc
	stopped <-chan error
}

var _ cluster.Cluster = (*opened)(nil)

// Fits returns an error if the cluster runs another program.
func (c *opened) Fits(context.Context) error {
	if err := c.Target.Fits(c.Record); err != nil {
		return err
	}
	if c.Recovered {
		c.Notef("The record of cluster %s was lost; its settings were restored from its files.", c.ID())
	}
	return nil
}

// Memory describes the settings, which are kept with the data.
func (c *opened) Memory() cluster.Memory {
	return cluster.Memory{
		Settings: cluster.ListSettings(target.Flags(), c.Record.Settings), Removed: c.Removed,
		Forget: "local down" + idFlag(c.ID()) + " --forget",
	}
}

// DropSettings deletes the settings of the removed cluster.
func (c *opened) DropSettings(context.Context) error { return c.Target.Place.DropSettings() }

// Warn does nothing: plans of this platform show all effects.
func (c *opened) Warn(context.Context, cluster.Verb) error { return nil }

// Session returns the context of the cluster with the saved session, or that of admin.
func (c *opened) Session(ctx context.Context) (k contexts.Context, runs bool, err error) {
	if !c.Target.MasterAlive() {
		return k, false, nil
	}
	f, err := contexts.Default(c.Getenv)
	if err != nil {
		return k, true, err
	}
	k.Name, k.Master, k.ServerName = c.ID(), c.Target.Spec.URL(), c.Target.Spec.OwnTLS.Name
	if k.CA, err = c.readCA(); err != nil {
		return k, true, err
	}
	k.User, k.Token, err = goodSession(ctx, f, c.Target)
	return k, true, err
}

// Up creates or updates the cluster, in this process with --foreground.
func (c *opened) Up(ctx context.Context, p plan.Plan) error {
	if c.Foreground {
		return c.upInForeground(ctx)
	}
	return c.Local.Up(ctx, p)
}

// Releases returns the current release and that of this program.
func (c *opened) Releases(context.Context) (runs, to record.Release, err error) {
	return c.Release, c.Target.Own, nil
}

// Absent returns the message for a cluster that does not exist.
func (c *opened) Absent(context.Context) []string {
	if c.Removed {
		return []string{"Cluster " + c.ID() + " is down."}
	}
	return append([]string{"Cluster " + c.ID() + " does not exist."}, cluster.NearNote(c.ID(), others(c.Streams, c.ID()))...)
}

// Kept returns nothing because the receipt lists the remaining data.
func (c *opened) Kept() string { return "" }

// Forget deletes the context of the cluster.
func (c *opened) Forget(ctx context.Context) error {
	return cluster.Forget(ctx, c.Streams, c.ID(), func(k contexts.Context) bool { return leadsHere(k, c.Target.Spec.URL()) })
}

// leadsHere reports whether a context belongs to the local cluster with its master at url, and not to a
// remote cluster with the same name.
func leadsHere(k contexts.Context, url string) bool {
	return k.Platform == "" || k.Platform == Platform{}.Name() || k.Master == url
}

// Credentials returns the passwords with which the cluster was created.
func (c *opened) Credentials(context.Context) (cluster.Access, error) {
	password, err := c.readPassword(c.Target.Place.Password())
	if err != nil {
		return cluster.Access{}, err
	}
	if !c.Target.MasterAlive() {
		c.Notef("Cluster %s is stopped; `%s` starts it.", c.ID(), c.Command("local up"+idFlag(c.ID())))
	}
	determined, err := c.readPassword(c.Target.Place.DeterminedPassword())
	return cluster.Access{URL: c.Target.Spec.URL(), User: "admin", Password: password, DeterminedPassword: determined}, err
}

func (c *opened) readPassword(file string) (string, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", absent(c.Streams, c.ID())
	}
	if err != nil {
		return "", fmt.Errorf("cannot read a password of cluster %s: %w", c.ID(), err)
	}
	return strings.TrimSpace(string(data)), nil
}

// idFlag returns the --cluster-id flag for a printed command, or "" for the default cluster.
func idFlag(id string) string {
	if id == target.DefaultCluster {
		return ""
	}
	return " --cluster-id " + id
}
