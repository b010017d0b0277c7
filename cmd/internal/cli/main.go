// Package cli runs a command line. It is the only place that converts signals to cancellation, and errors
// to text and an exit code.
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

// Tree returns the root command with all subcommands.
type Tree func(*term.Streams) *cobra.Command

// Main runs the command line of the process. The first interrupt cancels the context, so that the current
// step can finish; the second ends the process immediately.
func Main(t Tree) exit.Code {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) //nolint:forbidigo // the one root of all contexts
	defer stop()
	// Restore the default signal handling after the first signal.
	defer context.AfterFunc(ctx, stop)()
	return Run(ctx, term.System(), t, os.Args[1:])
}

// Run runs a command line and returns the exit code.
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
