package master

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

type backupOptions struct {
	command.Local
	configFile

	Path   string
	DryRun bool
}

func newBackup(s *term.Streams) *cobra.Command {
	o := &backupOptions{}
	c := command.New(s, o, runBackup, &cobra.Command{
		Use:   "backup",
		Short: "Back up the master's state to a file",
		Long: `Back up the master's state to a file: users, tasks, logs, and the cluster's identity and
keys. The master may be running. The file contains secrets and is readable only by its
owner. With s3://BUCKET/NAME, the backup is an object, written with the endpoint and keys
of checkpoint_storage if that has type s3, or those of the environment or the machine.

A backup can be restored into either kind of database.`,
		Example: "  det-deploy master backup --config-file master.yaml --file cluster.backup",
		Args:    cobra.NoArgs,
	})
	o.addStateFlags(c.Flags())
	c.Flags().StringVar(&o.Path, "file", "", "file to write, which must not exist, or s3://BUCKET/NAME")
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "show what would change, change nothing")
	return c
}

func checkFile(path string) error {
	if path == "" {
		return usage.Errorf("--file is missing: give the path of the backup")
	}
	return nil
}

// written is the JSON output of backup.
type written struct {
	File   string `json:"file"`
	Bytes  int64  `json:"bytes"`
	DryRun bool   `json:"dry_run"`
}

func (o *backupOptions) Validate() error { return checkFile(o.Path) }

func runBackup(ctx context.Context, o *backupOptions) error {
	l, err := o.loadConfig(o.Streams)
	if err != nil {
		return err
	}
	size, err := wire.Backup(ctx, l.Master, o.Path, o.DryRun)
	if err != nil {
		return err
	}
	answer := written{File: o.Path, Bytes: size, DryRun: o.DryRun}
	switch {
	case o.DryRun:
		return o.AnswerNote(answer, "The backup would have %d bytes.", size)
	case strings.HasPrefix(o.Path, "s3://"):
		return o.AnswerNote(answer,
			"Wrote %s (%d bytes). To restore it, copy it to a file, then run: det-deploy master restore --config-file FILE --file COPY", o.Path, size)
	default:
		return o.AnswerNote(answer, "Wrote %s (%d bytes). To restore it: det-deploy master restore --config-file FILE --file %s", o.Path, size, o.Path)
	}
}
