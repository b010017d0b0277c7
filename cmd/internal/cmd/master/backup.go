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
		Short: "Back up the master's state into one file",
		Long: `Back up the master's state into one file: users, tasks, their logs, the
cluster's identity and its keys. The master may be running. The file is as
secret as the database is, and readable by its owner only. A file s3://BUCKET/NAME is
an object: it is written with the keys and at the server of checkpoint_storage where
that is of type s3, and else with those of the environment or the machine.

It can be restored into either kind of database.`,
		Example: "  det-deploy master backup --config-file master.yaml --file cluster.backup",
		Args:    cobra.NoArgs,
	})
	o.addStateFlags(c.Flags())
	c.Flags().StringVar(&o.Path, "file", "", "file to write, which must not exist, or s3://BUCKET/NAME")
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "print the plan and stop")
	return c
}

func checkFile(path string) error {
	if path == "" {
		return usage.Errorf("--file is missing: name the backup's file")
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
		return o.AnswerNote(answer, "The backup would have %d bytes; nothing was written.", size)
	case strings.HasPrefix(o.Path, "s3://"):
		return o.AnswerNote(answer,
			"Wrote %s, %d bytes. To restore it, copy it into a file, then: det-deploy master restore --config-file FILE --file COPY", o.Path, size)
	default:
		return o.AnswerNote(answer, "Wrote %s, %d bytes. To restore it: det-deploy master restore --config-file FILE --file %s", o.Path, size, o.Path)
	}
}
