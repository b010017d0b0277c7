// Package local is the commands for a cluster on this machine.
package local

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	target "github.com/det-deploy/det-deploy/installer/target/local"
)

// New returns `det-deploy local`.
func New(s *term.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "local",
		Short: "Run a cluster on this machine",
		Long: `Run a cluster on this machine: a master, agents, and a small supervisor that
keeps them running, all as processes of yours, in one directory under
$XDG_STATE_HOME/det-deploy (~/.local/state/det-deploy).`,
		Example: `  det-deploy local up
  det-deploy local status
  det-deploy local down`,
	}
	c.AddCommand(
		newUp(s, runUp), newStatus(s, runStatus), newLogs(s, runLogs),
		newCredentials(s, runCredentials), newUpgrade(s, runUpgrade), newDown(s, runDown), newSupervise(s, runSupervise),
	)
	return c
}

// which is the cluster that a command is about.
type which struct {
	Cluster string
}

func (w *which) addFlag(f *pflag.FlagSet) {
	f.StringVar(&w.Cluster, "cluster-id", target.DefaultCluster, "cluster ID")
}

func (w *which) validate() error {
	if !target.ValidCluster(w.Cluster) {
		return usage.Errorf("--cluster-id: must be up to 31 lower-case letters, digits and inner dashes, a letter first (is %q)", w.Cluster)
	}
	return nil
}

// absentError is a cluster that is not there.
type absentError struct{ cluster string }

func (e *absentError) Error() string {
	return fmt.Sprintf("cluster %s does not exist on this machine", e.cluster)
}
func (e *absentError) Hint() string { return "det-deploy local up --cluster-id " + e.cluster }

// contextFile is where this user's masters are remembered.
func contextFile(s *term.Streams) (contexts.File, error) { return contexts.Default(s.Getenv) }

// contextName is the name of a cluster's context: its id, which no other local
// cluster has.
func contextName(cluster string) string { return cluster }

// forgetContext drops the context of a cluster that is gone.
func forgetContext(ctx context.Context, s *term.Streams, cluster string) error {
	f, err := contextFile(s)
	if err != nil {
		return err
	}
	b, err := f.Load()
	if err != nil {
		return err
	}
	if c, ok := b.Get(contextName(cluster)); !ok || c.Name == "" {
		return nil
	}
	return f.Forget(ctx, contextName(cluster))
}
