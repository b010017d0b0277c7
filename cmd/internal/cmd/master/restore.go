package master

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

type restoreOptions struct {
	command.Local
	configFile

	Path string
}

func newRestore(s *term.Streams) *cobra.Command {
	o := &restoreOptions{}
	c := command.New(s, o, runRestore, &cobra.Command{
		Use:   "restore",
		Short: "Restore a backup into an empty store",
		Long: `Restore a backup into the store of master.yaml. The store must be empty, because a
restore never overwrites data. A damaged or truncated backup causes an error, and
nothing is restored.`,
		Example: "  det-deploy master restore --config-file master.yaml --file cluster.backup",
		Args:    cobra.NoArgs,
	})
	o.addStateFlags(c.Flags())
	c.Flags().StringVar(&o.Path, "file", "", "backup to read")
	return c
}

// restored is the JSON output of restore.
type restored struct {
	File string `json:"file"`
}

func (o *restoreOptions) Validate() error { return checkFile(o.Path) }

func runRestore(ctx context.Context, o *restoreOptions) error {
	l, err := o.loadConfig(o.Streams)
	if err != nil {
		return err
	}
	if err := wire.Restore(ctx, l.Master, o.Path); err != nil {
		return err
	}
	return o.AnswerNote(restored{o.Path}, "Restored %s. Start the master: det-deploy master run --config-file %s", o.Path, l.Master.ConfigFile)
}
