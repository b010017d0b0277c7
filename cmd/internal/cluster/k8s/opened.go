package k8s

import (
	"context"
	"strings"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	k8swire "github.com/det-deploy/det-deploy/cmd/internal/wire/k8s"
)

// opened implements cluster.Cluster for Kubernetes.
type opened struct {
	*k8swire.Opened

	w *wanted
	// differs is true if an upgrade would change the release.
	differs bool
}

var _ cluster.Cluster = (*opened)(nil)

// flagLine returns the flags that select this cluster in another command.
func (c *opened) flagLine() string { return c.w.clusterFlags(c.Opened) }

// Fits returns an error if the cluster runs another release.
func (c *opened) Fits(ctx context.Context) error { return c.Target.Fits(ctx, c.Record) }

// Warn prints the losses of an adoption. For down, it warns that the chart may be applied again, or that
// the receipt is incomplete.
func (c *opened) Warn(ctx context.Context, v cluster.Verb) error {
	if v == cluster.Down {
		return c.warnDown(ctx)
	}
	lost, err := c.Losses(ctx)
	if err != nil || len(lost) == 0 {
		return err
	}
	c.w.Notef("Cluster %s replaces Determined's release, %s %s. Consequences:", c.ID(), c.Helm.Chart, c.Helm.Version)
	for _, line := range lost {
		c.w.Notef("  - %s", line)
	}
	return nil
}

func (c *opened) warnDown(ctx context.Context) error {
	if c.Applied {
		c.w.Notef("The chart was applied without Helm; the tool that applied it may apply it again.")
	}
	unseen, err := c.Target.Unseen(ctx)
	if len(unseen) > 0 {
		c.w.Notef("You may not list %s, so their remains are not included.", strings.Join(unseen, ", "))
	}
	return err
}

// Credentials returns the passwords with which the cluster was created.
func (c *opened) Credentials(ctx context.Context) (cluster.Access, error) {
	admin, err := c.Target.Credentials(ctx)
	if err != nil {
		return cluster.Access{}, err
	}
	determined, err := c.Target.DeterminedPassword(ctx)
	if err != nil {
		return cluster.Access{}, err
	}
	e, err := c.Target.Endpoint(ctx)
	a := cluster.Access{URL: e.URL, Forward: c.w.kubectlFlags(e.Forward(c.Namespace())), User: admin.User, Password: admin.Password.Reveal(), DeterminedPassword: determined.Reveal()}
	a.Reached = e.Forwarded() + " while this runs: " + a.Forward
	return a, err
}

// Absent returns the message for a cluster that does not exist, and the cluster with the most similar ID,
// which may be the same in another namespace.
func (c *opened) Absent(ctx context.Context) []string {
	if c.Removed {
		return []string{"Cluster " + c.ID() + " in namespace " + c.Namespace() + " is down."}
	}
	return append([]string{"There is no cluster " + c.ID() + " in namespace " + c.Namespace() + "."}, cluster.NearNote(c.ID(), c.others(ctx))...)
}

// Kept returns nothing because the receipt lists the remaining volumes.
func (c *opened) Kept() string { return "" }

// Memory describes the values, which are kept where the record was.
func (c *opened) Memory() cluster.Memory {
	return cluster.Memory{Settings: c.ListKept(), Removed: c.Removed, Forget: "k8s uninstall " + c.flagLine() + " --forget"}
}

// Forget deletes the context of a removed cluster.
func (c *opened) Forget(ctx context.Context) error {
	return cluster.Forget(ctx, c.w.Streams, c.ID(), func(k contexts.Context) bool {
		return k.Platform == Platform{}.Name() && k.Namespace == c.Namespace()
	})
}
