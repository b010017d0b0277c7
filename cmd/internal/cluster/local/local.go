// Package local implements the commands for clusters on this machine.
package local

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

// Platform implements cluster.Platform for this machine.
type Platform struct{}

var _ cluster.Platform = Platform{}

// New returns `det-deploy local`.
func New(s *term.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "local",
		Short: "Run a cluster on this machine",
		Long: `Run a cluster on this machine: a master, agents, and a small supervisor that keeps
them running, all as processes of your user, in a directory under
$XDG_STATE_HOME/det-deploy (~/.local/state/det-deploy).`,
		Example: `  det-deploy local up
  det-deploy local status
  det-deploy local down`,
	}
	c.AddCommand(cluster.Commands(s, Platform{})...)
	c.AddCommand(newRestore(s)...)
	c.AddCommand(newBackup(s, runBackup), newSupervise(s, runSupervise))
	return c
}

// Name returns the platform's name in commands.
func (Platform) Name() string { return "local" }

// About is empty because forms do not offer this machine as a platform.
func (Platform) About() string { return "" }

// Location is empty because there is only one location.
func (Platform) Location() []string { return nil }

// Select returns the selection of a single command.
func (Platform) Select(s *term.Streams) cluster.Selection { return &selection{Streams: s} }

// Clusters lists the clusters of this machine.
func (Platform) Clusters(s *term.Streams) ([]string, error) { return wire.LocalClusters(s) }

// Help returns the help texts specific to this machine.
func (Platform) Help(v cluster.Verb) (cluster.Help, bool) {
	h, found := map[cluster.Verb]cluster.Help{
		cluster.Up: {
			Long: `Create or update a cluster on this machine. Re-running is safe: it applies changes
and repairs drift. Settings that are not given are kept.`,
			Example: `  det-deploy local up
  det-deploy local up --agents 2 --artificial-slots 4
  det-deploy local up --agents 0 --elastic 3
  det-deploy local up --master-config-file policy.yaml
  det-deploy local up --cluster-id second --port 8081 --dry-run`,
		},
		cluster.Status: {Example: `  det-deploy local status
  det-deploy local status --output json`},
		cluster.Logs: {
			Use: "logs [PROCESS]", Short: "Show the logs of a cluster on this machine",
			Example: `  det-deploy local logs
  det-deploy local logs master --follow`,
			Args: cobra.MaximumNArgs(1),
		},
		cluster.Credentials: {
			Long: `Show the address of a cluster on this machine and the initial passwords of the
users admin and determined. Passwords that were changed since are not shown.`,
			Example: `  det-deploy local credentials
  det-deploy local credentials --output json`,
		},
		cluster.Upgrade: {
			Long: `Upgrade a cluster on this machine to this version of det-deploy. The master
stops, its store is backed up, and the new master is tested on a copy. If the
upgrade fails before the new master serves, it is rolled back; after an
interruption, the same command continues. Tasks continue.`,
			Example: `  det-deploy local upgrade
  det-deploy local upgrade --dry-run`,
		},
		cluster.Down: {
			Short: "Stop and remove a cluster on this machine",
			Long: `Stop and remove a cluster on this machine. Its data, the password to it and its
settings are kept unless --delete-data is given; up restores them. With --forget, the
next up begins with the defaults.`,
			Example: `  det-deploy local down
  det-deploy local down --delete-data --yes`,
		},
	}[v]
	h.On = "this machine"
	return h, found
}
