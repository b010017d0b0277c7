package local

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// restoring is the platform of `det-deploy local restore`, which is `up` with the store of a backup.
type restoring struct{ Platform }

// newRestore returns `det-deploy local restore`.
func newRestore(s *term.Streams) []*cobra.Command { return cluster.Commands(s, restoring{}) }

// Select returns the selection of a single command.
func (restoring) Select(s *term.Streams) cluster.Selection {
	return &selection{Streams: s, restores: true}
}

// Help returns the help texts of restore.
func (restoring) Help(v cluster.Verb) (cluster.Help, bool) {
	return cluster.Help{
		On:    "this machine",
		Use:   "restore",
		Short: "Create a cluster on this machine from a backup",
		Long: `Create a cluster on this machine from a backup, of a local cluster or of any master.
The flags are those of up. The cluster must not exist and have no data: a restore
overwrites nothing. Users, and their passwords, are those of the backup.`,
		Example: `  det-deploy local restore --file cluster.backup
  det-deploy local restore --file cluster.backup --cluster-id second --port 8081`,
	}, v == cluster.Up
}

// existsError reports a cluster that a restore would overwrite.
type existsError struct{ cluster string }

func (e *existsError) Error() string {
	return fmt.Sprintf("cluster %s has data, which a restore does not overwrite", e.cluster)
}

// Hint names the commands that make room.
func (e *existsError) Hint() string {
	return "restore with another --cluster-id and --port, or delete the data with `det-deploy local down" + idFlag(e.cluster) + " --delete-data`"
}
