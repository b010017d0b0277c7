// Package cli is the program without its process: it runs a command line, and
// is the one place where signals become cancellation and errors become text
// and an exit code.
package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// Tree makes the tree of all commands.
type Tree func(*term.Streams) *cobra.Command

// Main runs the process's own command line. The first interruption lets the
// step in hand finish; the second ends the process at once.
func Main(t Tree) exit.Code {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) //nolint:forbidigo // the one root of all contexts
	defer stop()
	// Give the signals back as soon as the first one came.
	defer context.AfterFunc(ctx, stop)()
	return Run(ctx, term.System(), t, os.Args[1:])
}

// Run runs one command line and says what to exit with.
func Run(ctx context.Context, s *term.Streams, t Tree, args []string) exit.Code {
	root := t(s)
	root.SetArgs(args)
	c, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exit.Done
	}
	reportError(s, c, err)
	return exit.Of(err)
}
