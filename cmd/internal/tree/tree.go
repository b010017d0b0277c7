// Package tree assembles the root command from nouns, with the help, completion and error handling that
// all commands share. It does not depend on any command.
package tree

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

// Noun is a command below the root, in a group of the help page.
type Noun struct {
	Group Group
	Make  func(*term.Streams) *cobra.Command
}

// Group is a group of commands on the help page.
type Group string

// The groups of the help page.
const (
	Use     Group = "use"
	Run     Group = "run"
	Install Group = "install"
)

// New returns the root command with the given nouns.
func New(s *term.Streams, nouns []Noun) *cobra.Command {
	root := &cobra.Command{
		Use:   "det-deploy",
		Short: "Install, operate and run deep-learning clusters",
		Long: `det-deploy installs and operates deep-learning clusters on AWS, Google Cloud, Kubernetes
or this machine, and runs their masters and agents.`,
		Example: `  det-deploy local up
  det-deploy login admin
  det-deploy task run --slots 1 -- python train.py`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	addGroup(root, Use, "Using a cluster:")
	addGroup(root, Run, "Running a cluster:")
	addGroup(root, Install, "Installing a cluster:")
	for _, n := range nouns {
		c := n.Make(s)
		c.GroupID = string(n.Group)
		root.AddCommand(c)
	}
	s.AddAccessibleFlag(root.PersistentFlags())
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	finishCommand(root)
	fitHelp(root, s.OutColumns())
	return root
}

func addGroup(root *cobra.Command, id Group, title string) {
	root.AddGroup(&cobra.Group{ID: string(id), Title: title})
}

// finishCommand applies the settings that cobra does not inherit to every command.
func finishCommand(root *cobra.Command) *cobra.Command {
	root.InitDefaultCompletionCmd()
	finishShells(root)
	root.InitDefaultHelpCmd()
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return &usage.Error{Err: wrongFlag(c, err), Command: c.CommandPath()}
	})
	walkCommands(root, func(c *cobra.Command) {
		markMistakes(c)
		completeWords(c)
		c.Aliases = append(c.Aliases, shortVerbs()[c.Name()]...)
		c.SuggestionsMinimumDistance = 2
		if c.HasSubCommands() && !c.Runnable() {
			c.RunE = unknownVerb
			c.DisableFlagsInUseLine = true
		}
	})
	return root
}

// markMistakes makes errors about arguments refer to the command's help.
func markMistakes(c *cobra.Command) {
	if check := c.Args; check == nil && c.HasSubCommands() {
		c.Args = cobra.ArbitraryArgs // unknownVerb returns a better error
	} else {
		c.Args = func(c *cobra.Command, args []string) error {
			if check != nil {
				if err := check(c, args); err != nil {
					return mark(c, err)
				}
			}
			return mark(c, refuseEmpty(c, args))
		}
	}
	if run := c.RunE; run != nil {
		c.RunE = func(c *cobra.Command, args []string) error { return markUsage(c, run(c, args)) }
	}
}

// shortVerbs returns the short names of verbs that all nouns share.
func shortVerbs() map[string][]string {
	return map[string][]string{"list": {"ls"}, "describe": {"get"}}
}

func walkCommands(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, sub := range c.Commands() {
		walkCommands(sub, visit)
	}
}
