// Package early runs a command that only talks to a master as soon as the packages that it
// needs have started, instead of behind those of all clouds. Only main imports it, for that
// effect: see ADR 102.
package early

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/cli"
	"github.com/det-deploy/det-deploy/cmd/internal/client"
	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/tree"
)

// The runtime starts a package when all that it imports has started. It ends the process
// here, or continues with the packages that are left and with main.
var _ = runOrLeave(os.Args[1:])

// runOrLeave runs the command and ends the process, or does nothing for a command that is
// not the client's.
func runOrLeave(args []string) struct{} { //nolint:unparam // a variable has to have a value
	noun, found := tree.Wanted(client.Nouns(), args)
	if !found {
		return struct{}{}
	}
	// The goroutine of the start is bound to one thread, and each of its waits would
	// change threads twice.
	ended := make(chan exit.Code)
	go func() {
		ended <- cli.Main(func(s *term.Streams, _ []string) *cobra.Command { return tree.New(s, []tree.Noun{noun}) })
	}()
	os.Exit(int(<-ended)) //nolint:forbidigo // for these commands this is main
	return struct{}{}
}
