package local

import (
	"context"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/logfile"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/installer/target/local/supervise"
)

type superviseOptions struct {
	*term.Streams

	Directory string
}

// newSupervise returns the hidden command that `up` starts in the background.
func newSupervise(s *term.Streams, run func(context.Context, *superviseOptions) error) *cobra.Command {
	o := &superviseOptions{Streams: s}
	c := &cobra.Command{
		Use:     "supervise",
		Short:   "Supervise the processes of a local cluster (internal)",
		Example: "  det-deploy local supervise --directory ~/.local/state/det-deploy/local",
		Hidden:  true,
		Args:    usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.Directory, "directory", "", "directory of the cluster")
	return c
}

func (o *superviseOptions) validate() error {
	if o.Directory == "" {
		return usage.Errorf("--directory is missing")
	}
	return nil
}

func runSupervise(ctx context.Context, o *superviseOptions) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	return supervise.Run(ctx, supervise.Config{
		Dir: supervise.Dir(o.Directory), Program: program,
		Log: slog.New(slog.NewTextHandler(logfile.Rotating(o.Err), nil)),
	})
}
