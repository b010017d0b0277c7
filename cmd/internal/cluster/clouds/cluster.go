// Package clouds implements the commands that are common to all clouds, where the master has its own
// machine and the cluster is described by flags and a cluster.yaml.
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
	// Awaited is true if up waits for the master.
	Awaited bool

	provider Provider
}

var _ cluster.Cluster = (*Cluster)(nil)

// commandLine returns the command line of a verb for the cluster, such as "det-deploy aws up --cluster-id
// lab".
func (c *Cluster) commandLine(v cluster.Verb) string {
	return "det-deploy " + c.arguments(v)
}

// arguments returns the arguments of commandLine, without the program.
func (c *Cluster) arguments(v cluster.Verb) string {
	args := []string{c.Words.Name, string(v), "--cluster-id", c.ID()}
	return strings.Join(append(args, c.Account()...), " ")
}

// Need returns an error if the verb requires a cluster or a record that does not exist.
func (c *Cluster) Need(ctx context.Context, v cluster.Verb) error {
	_, recorded := c.Recorded()
	switch v {
	case cluster.Status, cluster.Logs:
		if c.Removed {
			return c.downError()
		}
		if found, err := c.Exists(ctx); err != nil || found {
			return err
		}
		return c.absentError(ctx)
	case cluster.Credentials, cluster.Upgrade:
		if recorded {
			return nil
		}
		if c.Removed {
			return c.downError()
		}
		if lost, err := c.Lost(ctx); err != nil {
			return err
		} else if lost {
			return &LostError{c.Words.Name, c.ID()}
		}
		return c.absentError(ctx)
	case cluster.Up, cluster.Plan, cluster.Doctor, cluster.List, cluster.Down, cluster.Adopt:
	}
	return nil
}

// Fits returns an *installer.UnderWayError if an upgrade of the cluster is in progress.
func (c *Cluster) Fits(context.Context) error {
	if r, _ := c.Recorded(); r.Upgrade != nil {
		return &installer.UnderWayError{Cluster: c.ID(), To: r.Upgrade.To}
	}
	return nil
}

// Warn prints, with a plan, what overrides the cluster's settings. Up shows it with the other checks.
func (c *Cluster) Warn(ctx context.Context, v cluster.Verb) error {
	if v != cluster.Plan {
		return nil
	}
	return c.CheckPlan(ctx).Render(c.Err)
}

// Recover reads back the settings of a cluster that has lost its record. It returns a
// *cluster.AbsentError if there is no such cluster.
func (c *Cluster) Recover(ctx context.Context) (settings map[string]string, whole bool, err error) {
	settings, whole, err = c.CloudCluster.Recover(ctx)
	if err == nil && settings == nil {
		err = c.absentError(ctx)
	}
	return settings, whole, err
}

// Releases returns the current release and the one that upgrade would install.
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

// Credentials returns the passwords with which the cluster was created.
func (c *Cluster) Credentials(ctx context.Context) (cluster.Access, error) {
	admin, err := c.Admin(ctx)
	if err != nil {
		return cluster.Access{}, err
	}
	determined, err := c.DeterminedPassword(ctx)
	return cluster.Access{URL: admin.URL, User: admin.User, Password: admin.Password.Reveal(), DeterminedPassword: determined.Reveal()}, err
}

// Absent returns the message for a cluster that does not exist.
func (c *Cluster) Absent(ctx context.Context) []string {
	if c.Removed {
		return []string{"Cluster " + c.ID() + " in " + c.Place() + " is down."}
	}
	have, _ := c.existing(ctx) // without them, the message is only less helpful
	return append([]string{"There is no cluster " + c.ID() + " in " + c.Place() + "."}, cluster.NearNote(c.ID(), have)...)
}

// Kept returns the command that deletes the remaining data.
func (c *Cluster) Kept() string {
	return "`" + c.commandLine(cluster.Down) + " --region " + c.Place() + " --delete-data` deletes the remaining data."
}

// Memory describes the settings, which are kept where the record was.
func (c *Cluster) Memory() cluster.Memory {
	return cluster.Memory{
		Settings: cluster.ListSettings(c.provider.Settings(), c.Record.Settings), Removed: c.Removed,
		Forget: c.arguments(cluster.Down) + " --region " + c.Place() + " --forget",
	}
}

func (c *Cluster) downError() error {
	return &cluster.DownError{Cluster: c.ID(), Up: c.Command(c.arguments(cluster.Up))}
}

// Forget deletes the context of a removed cluster.
func (c *Cluster) Forget(ctx context.Context) error {
	return cluster.Forget(ctx, c.Streams, c.ID(), func(k contexts.Context) bool { return k.Platform == c.Words.Name })
}
