// Package pod implements the commands that run inside task pods. They are run by Kubernetes; users need
// them only for troubleshooting.
package pod

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

// New returns `det-deploy pod`.
func New(s *term.Streams) *cobra.Command {
	c := command.NewNoun(s, "pod", "Pod helpers (internal)", "  det-deploy pod init --order /run/determined-order --files /run/determined-files",
		newInit)
	c.Hidden = true
	return c
}

type initOptions struct {
	command.Base
	wire.PodFiles
}

func newInit(s *term.Streams) *cobra.Command {
	o := &initOptions{}
	c := command.New(s, o, runInit, &cobra.Command{
		Use:   "init",
		Short: "Write a task's files to its volume",
		Long: `Write a task's files to its volume. The init container of a task's pod runs it as the
task's user: it unpacks files from the pod's Secret, and downloads the user's files from
the master, retrying while the master is unavailable.`,
		Example: "  det-deploy pod init --order /run/determined-order --files /run/determined-files",
	})
	f := c.Flags()
	f.StringVar(&o.Order, "order", "", "directory of the pod's Secret, with the instructions")
	f.StringVar(&o.Files, "files", "", "directory of the pod's volume, for the files")
	return c
}

func (o *initOptions) Validate() error {
	switch {
	case o.Order == "":
		return usage.Errorf("--order is missing")
	case o.Files == "":
		return usage.Errorf("--files is missing")
	}
	return nil
}

func runInit(ctx context.Context, o *initOptions) error {
	return wire.InitPod(ctx, o.PodFiles, o.Err, o.ErrTerminal())
}
