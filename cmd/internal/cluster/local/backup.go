package local

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	target "github.com/det-deploy/det-deploy/installer/target/local"
)

type backupOptions struct {
	*term.Streams

	Cluster string
	Path    string
	DryRun  bool
	Output  term.Format
}

// newBackup returns `det-deploy local backup`.
func newBackup(s *term.Streams, run func(context.Context, *backupOptions) error) *cobra.Command {
	o := &backupOptions{Streams: s}
	c := &cobra.Command{
		Use:   "backup",
		Short: "Back up the state of a cluster on this machine to a file",
		Long: `Back up the state of a cluster on this machine to a file: users, tasks, experiments,
logs, and the cluster's identity and keys. The cluster may run. Checkpoints are not
included. The file contains secrets and is readable only by its owner; local restore
makes a cluster from it.`,
		Example: "  det-deploy local backup --file cluster.backup",
		Args:    usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	f := c.Flags()
	cluster.AddID(f, &o.Cluster, target.DefaultCluster)
	f.StringVar(&o.Path, "file", "", "file to write, which must not exist")
	f.BoolVar(&o.DryRun, "dry-run", false, "show what would change, change nothing")
	o.Output.AddFlag(f)
	return c
}

func (o *backupOptions) validate() (err error) {
	if err := cluster.CheckID(o.Cluster); err != nil {
		return err
	}
	o.Path, err = absolute(o.Path)
	return err
}

// absolute returns the absolute path of a backup.
func absolute(path string) (string, error) {
	if path == "" {
		return "", usage.Errorf("--file is missing: give the path of the backup")
	}
	return filepath.Abs(path)
}

// backedUp is the JSON output of backup.
type backedUp struct {
	Schema  string `json:"schema"`
	Cluster string `json:"cluster"`
	File    string `json:"file"`
	Bytes   int64  `json:"bytes"`
	DryRun  bool   `json:"dry_run"`
}

func runBackup(ctx context.Context, o *backupOptions) error {
	l, err := wire.NewLocal(ctx, o.Streams, o.Cluster, nil, nil)
	if err != nil {
		return err
	}
	if !l.Known && !l.Recovered {
		return absent(o.Streams, o.Cluster)
	}
	size, err := l.Target.BackupTo(ctx, o.Path, o.DryRun)
	if err != nil {
		return err
	}
	if o.Output == term.JSON {
		return o.PrintJSON(backedUp{"det-deploy.local-backup/v1", o.Cluster, o.Path, size, o.DryRun})
	}
	if o.DryRun {
		o.Notef("The backup would have %d bytes.", size)
		return nil
	}
	o.Notef("Wrote %s (%d bytes). To make a cluster from it: `%s`", o.Path, size, o.Command("local restore --file "+o.Path))
	return nil
}
