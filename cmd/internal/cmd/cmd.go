// Package cmd assembles the tree of commands: which nouns there are, and what
// they all share.
package cmd

import (
	"slices"

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

// noun is a command below the root, and how it is made.
type noun struct {
	name, group string
	make        func(*term.Streams) *cobra.Command
}

// The groups of nouns on the help page.
const (
	use     = "use"
	run     = "run"
	install = "install"
)

func nouns() []noun {
	return []noun{
		{"login", use, login.New},
		{"logout", use, login.NewLogout},
		{"context", use, context.New},
		{"task", use, task.New},
		{"experiment", use, experiment.New},
		{"trial", use, trial.New},
		{"checkpoint", use, checkpoint.New},
		{"model", use, model.New},
		{"job", use, job.New},
		{"pool", use, pool.New},
		{"resources", use, resources.New},
		{"top", use, top.New},
		{"user", use, user.New},
		{"audit", use, audit.New},
		{"master", run, master.New},
		{"agent", run, agent.New},
		{"host", run, host.New},
		{"pod", run, pod.New},
		{"aws", install, aws.New},
		{"gcp", install, gcp.New},
		{"k8s", install, k8s.New},
		{"local", install, local.New},
		{"list", install, onAllPlatforms(cluster.NewList)},
		{"status", install, onAllPlatforms(cluster.NewStatus)},
		{"upgrade", install, onAllPlatforms(cluster.NewUpgrade)},
		{"down", install, onAllPlatforms(cluster.NewDown)},
		{"version", "", version.New},
	}
}

// onAllPlatforms makes a verb that works on clusters wherever they are.
func onAllPlatforms(verb func(*term.Streams, ...cluster.Platform) *cobra.Command) func(*term.Streams) *cobra.Command {
	return func(s *term.Streams) *cobra.Command {
		return verb(s, aws.Platform{}, gcp.Platform{}, k8s.Platform{}, local.Platform{})
	}
}

// New returns the whole tree.
func New(s *term.Streams) *cobra.Command { return newTree(s, nouns()) }

// NewFor returns as much of the tree as a command line needs: the noun that it begins
// with, or all of them for help, completion and what is mistyped. The others with their
// hundreds of flags would take longer than most commands do.
func NewFor(s *term.Streams, args []string) *cobra.Command {
	all := nouns()
	if len(args) > 0 {
		if i := slices.IndexFunc(all, func(n noun) bool { return n.name == args[0] }); i >= 0 {
			all = all[i : i+1]
		}
	}
	return newTree(s, all)
}

func newTree(s *term.Streams, all []noun) *cobra.Command {
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
	root.AddGroup(&cobra.Group{ID: use, Title: "Using a cluster:"}, &cobra.Group{ID: run, Title: "Running a cluster:"}, &cobra.Group{ID: install, Title: "Installing a cluster:"})
	for _, n := range all {
		c := n.make(s)
		c.GroupID = n.group
		root.AddCommand(c)
	}
	s.AddAccessibleFlag(root.PersistentFlags())
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	return finishCommand(root)
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
