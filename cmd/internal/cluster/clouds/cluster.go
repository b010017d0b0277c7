// Package clouds is what clusters in a cloud have in common for commands: the master is
// on a machine of its own there, and the cluster is described by flags and a
// cluster.yaml.
package clouds

import (
	"context"
	"strings"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/record"
)

// Cluster is a cluster in a cloud.
type Cluster struct {
	*wire.CloudCluster
	*term.Streams

	Words Words
	// Awaited is true when up waits for the master.
	Awaited bool
}

var _ cluster.Cluster = (*Cluster)(nil)

// commandLine is a command line that is about the cluster: "det-deploy aws up --cluster-id
// lab".
func (c *Cluster) commandLine(v cluster.Verb) string {
	return "det-deploy " + c.arguments(v)
}

// arguments are those of the command line that carries out a verb on the cluster.
func (c *Cluster) arguments(v cluster.Verb) string {
	args := []string{c.Words.Name, string(v), "--cluster-id", c.ID()}
	return strings.Join(append(args, c.Account()...), " ")
}

// Need refuses a verb that needs more of a cluster than there is.
func (c *Cluster) Need(ctx context.Context, v cluster.Verb) error {
	_, recorded := c.Recorded()
	switch v {
	case cluster.Status, cluster.Logs:
		if found, err := c.Exists(ctx); err != nil || found {
			return err
		}
		return c.absentError()
	case cluster.Credentials, cluster.Upgrade:
		if recorded {
			return nil
		}
		if lost, err := c.Lost(ctx); err != nil {
			return err
		} else if lost {
			return &LostError{c.Words.Name, c.ID()}
		}
		return c.absentError()
	case cluster.Up, cluster.Plan, cluster.Doctor, cluster.List, cluster.Down, cluster.Adopt:
	}
	return nil
}

// Fits refuses to bring up a cluster of which an upgrade is under way.
func (c *Cluster) Fits(context.Context) error {
	if r, _ := c.Recorded(); r.Upgrade != nil {
		return &installer.UnderWayError{Cluster: c.ID(), To: r.Upgrade.To}
	}
	return nil
}

// Warn has nothing to add to a plan.
func (c *Cluster) Warn(context.Context, cluster.Verb) error { return nil }

// Recover reads back the settings of a cluster that has lost its record.
func (c *Cluster) Recover(ctx context.Context) (settings map[string]string, whole bool, err error) {
	settings, whole, err = c.CloudCluster.Recover(ctx)
	if err == nil && settings == nil {
		err = c.absentError()
	}
	return settings, whole, err
}

// Releases are what an upgrade is from and to.
func (c *Cluster) Releases(ctx context.Context) (runs, to record.Release, err error) {
	if err := c.Unread; err != nil {
		return runs, to, err
	}
	runs, to, err = c.CloudCluster.Releases(ctx)
	if err == nil && runs.IsZero() {
		err = &installer.AbsentError{Cluster: c.ID()}
	}
	return runs, to, err
}

// Credentials are the passwords that the cluster was created with.
func (c *Cluster) Credentials(ctx context.Context) (cluster.Access, error) {
	admin, err := c.Admin(ctx)
	if err != nil {
		return cluster.Access{}, err
	}
	determined, err := c.DeterminedPassword(ctx)
	return cluster.Access{URL: admin.URL, User: admin.User, Password: admin.Password.Reveal(), DeterminedPassword: determined.Reveal()}, err
}

// Absent says that there is nothing to remove.
func (c *Cluster) Absent(context.Context) []string {
	return []string{"There is no cluster " + c.ID() + " in " + c.Place() + "."}
}

// Kept says how to remove the data that was kept.
func (c *Cluster) Kept() string {
	return "`" + c.commandLine(cluster.Down) + " --region " + c.Place() + " --delete-data` removes what was kept."
}

// Forget removes the context of a cluster that is gone.
func (c *Cluster) Forget(ctx context.Context) error {
	return cluster.Forget(ctx, c.Streams, c.ID(), func(k contexts.Context) bool { return k.Platform == c.Words.Name })
}
