package master

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

type restoreOptions struct {
	*term.Streams
	configFile

	Path   string
	Output term.Format
}

func newRestore(s *term.Streams, run func(context.Context, *restoreOptions) error) *cobra.Command {
	o := &restoreOptions{Streams: s}
	c := &cobra.Command{
		Use:   "restore",
		Short: "Restore a backup into an empty store",
		Long: `Read a backup into the store that master.yaml names. The store must be empty: a
restore never overwrites, so it asks nothing. A damaged or truncated file is
refused, and then nothing of it is kept.`,
		Example: "  det-deploy master restore --config-file master.yaml --file cluster.backup",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := needsFile(o.Path); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	o.addFlags(c.Flags())
	c.Flags().StringVar(&o.Path, "file", "", "backup to read")
	o.Output.AddFlag(c.Flags())
	return c
}

func runRestore(ctx context.Context, o *restoreOptions) error {
	l, err := o.loadConfig(o.Streams)
	if err != nil {
		return err
	}
	if err := wire.Restore(ctx, l.Master, o.Path); err != nil {
		return err
	}
	if o.Output == term.JSON {
		return o.PrintJSON(struct {
			File string `json:"file"`
		}{o.Path})
	}
	o.Notef("Restored %s. Start the master: det-deploy master run --config-file %s", o.Path, l.Master.ConfigFile)
	return nil
}
