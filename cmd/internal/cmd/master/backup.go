package master

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

type backupOptions struct {
	*term.Streams
	configFile

	Path   string
	DryRun bool
	Output term.Format
}

func newBackup(s *term.Streams, run func(context.Context, *backupOptions) error) *cobra.Command {
	o := &backupOptions{Streams: s}
	c := &cobra.Command{
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
		RunE: func(c *cobra.Command, _ []string) error {
			if err := needsFile(o.Path); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	o.addFlags(c.Flags())
	c.Flags().StringVar(&o.Path, "file", "", "file to write, which must not exist, or s3://BUCKET/NAME")
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "print the plan and stop")
	o.Output.AddFlag(c.Flags())
	return c
}

func needsFile(path string) error {
	if path == "" {
		return usage.Check(errors.New("--file is missing: name the backup's file"))
	}
	return nil
}

// written is the answer in JSON.
type written struct {
	File   string `json:"file"`
	Bytes  int64  `json:"bytes"`
	DryRun bool   `json:"dry_run"`
}

func runBackup(ctx context.Context, o *backupOptions) error {
	l, err := o.loadConfig(o.Streams)
	if err != nil {
		return err
	}
	size, err := wire.Backup(ctx, l.Master, o.Path, o.DryRun)
	if err != nil {
		return err
	}
	if o.Output == term.JSON {
		return o.PrintJSON(written{File: o.Path, Bytes: size, DryRun: o.DryRun})
	}
	if o.DryRun {
		o.Notef("The backup would have %d bytes; nothing was written.", size)
		return nil
	}
	if strings.HasPrefix(o.Path, "s3://") {
		o.Notef("Wrote %s, %d bytes. To restore it, copy it into a file, then: det-deploy master restore --config-file FILE --file COPY", o.Path, size)
		return nil
	}
	o.Notef("Wrote %s, %d bytes. To restore it: det-deploy master restore --config-file FILE --file %s", o.Path, size, o.Path)
	return nil
}
