package cmd

import (
	"strings"

	"github.com/spf13/cobra"
)

// linuxCommands returns the commands that are, start or set up a master or an agent on this machine.
func linuxCommands() []string {
	return []string{
		"local", "up", "host", "pod", "master run", "master install", "master uninstall", "master rehearse",
		"agent run", "agent sweep", "agent install", "agent uninstall",
	}
}

// refuseLinuxCommands hides the commands that need Linux from the help, and makes them fail. It changes nothing on
// Linux.
func refuseLinuxCommands(root *cobra.Command, goos string) {
	if goos == "linux" {
		return
	}
	for _, name := range linuxCommands() {
		c, _, err := root.Find(strings.Fields(name))
		if err != nil {
			panic(err) // the tree has the command
		}
		refuse(c)
	}
	root.Example = strings.ReplaceAll(root.Example, "local up", "aws up")
}

// refuse hides a command and those below it, and makes them fail.
func refuse(c *cobra.Command) {
	c.Hidden, c.Args, c.ValidArgsFunction = true, cobra.ArbitraryArgs, cobra.NoFileCompletions
	c.RunE = func(c *cobra.Command, _ []string) error { return &needsLinuxError{c.CommandPath()} }
	for _, sub := range c.Commands() {
		refuse(sub)
	}
}

// needsLinuxError reports a command that this system does not have.
type needsLinuxError struct{ command string }

// Error implements error.
func (e *needsLinuxError) Error() string {
	return e.command + " needs Linux: masters and agents do not run on this system"
}

// Hint implements the second line of an error.
func (*needsLinuxError) Hint() string {
	return "install a cluster elsewhere, with det-deploy aws up, gcp up or k8s install, or use one: det-deploy login"
}
