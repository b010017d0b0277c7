// Package cmd assembles the tree of commands: which nouns there are, and what
// they all share.
package cmd

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/cluster/aws"
	"github.com/det-deploy/det-deploy/cmd/internal/cluster/gcp"
	"github.com/det-deploy/det-deploy/cmd/internal/cluster/k8s"
	"github.com/det-deploy/det-deploy/cmd/internal/cluster/local"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/agent"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/audit"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/checkpoint"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/context"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/experiment"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/host"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/job"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/login"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/master"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/model"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/pod"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/pool"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/resources"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/task"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/top"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/trial"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/user"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/version"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

// New returns the whole tree.
func New(s *term.Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "det-deploy",
		Short: "Install, operate and run deep-learning clusters",
		Long: `det-deploy installs a deep-learning cluster on AWS, Google Cloud, Kubernetes
or this machine, operates it, and is the cluster: its master and its agents.`,
		Example: `  det-deploy local up
  det-deploy login admin
  det-deploy task run --slots 1 -- python train.py`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	platforms := []cluster.Platform{aws.Platform{}, gcp.Platform{}, k8s.Platform{}, local.Platform{}}
	addNouns(root, "use", "Using a cluster:",
		login.New(s), login.NewLogout(s), context.New(s), task.New(s), experiment.New(s), trial.New(s), checkpoint.New(s), model.New(s), job.New(s), pool.New(s), resources.New(s), top.New(s), user.New(s), audit.New(s))
	addNouns(root, "run", "Running a cluster:", master.New(s), agent.New(s), host.New(s), pod.New(s))
	addNouns(root, "install", "Installing a cluster:", aws.New(s), gcp.New(s), k8s.New(s), local.New(s),
		cluster.NewList(s, platforms...), cluster.NewStatus(s, platforms...), cluster.NewUpgrade(s, platforms...), cluster.NewDown(s, platforms...))
	root.AddCommand(version.New(s))
	s.AddAccessibleFlag(root.PersistentFlags())
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	return finishCommand(root)
}

// addNouns puts nouns under a heading of the help page.
func addNouns(root *cobra.Command, id, title string, nouns ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, c := range nouns {
		c.GroupID = id
	}
	root.AddCommand(nouns...)
}

// finishCommand gives every command what cobra lets each forget.
func finishCommand(root *cobra.Command) *cobra.Command {
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return &usage.Error{Err: wrongFlag(c, err), Command: c.CommandPath()}
	})
	walkCommands(root, func(c *cobra.Command) {
		markMistakes(c)
		c.SuggestionsMinimumDistance = 2
		if c.HasSubCommands() && !c.Runnable() {
			c.RunE = unknownVerb
			c.DisableFlagsInUseLine = true
		}
	})
	return root
}

// markMistakes makes errors about arguments point at the command's help.
func markMistakes(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error { return mark(c, check(c, args)) }
	} else if c.HasSubCommands() {
		c.Args = cobra.ArbitraryArgs // unknownVerb has better words
	}
	if run := c.RunE; run != nil {
		c.RunE = func(c *cobra.Command, args []string) error { return markUsage(c, run(c, args)) }
	}
}

func walkCommands(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, sub := range c.Commands() {
		walkCommands(sub, visit)
	}
}
