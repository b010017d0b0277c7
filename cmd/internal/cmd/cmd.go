// Package cmd has all commands: those that only talk to a master, those that install and
// operate clusters, and the cluster's own roles.
package cmd

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/client"
	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/cluster/aws"
	"github.com/det-deploy/det-deploy/cmd/internal/cluster/gcp"
	"github.com/det-deploy/det-deploy/cmd/internal/cluster/k8s"
	"github.com/det-deploy/det-deploy/cmd/internal/cluster/local"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/agent"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/experiment"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/host"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/master"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/pod"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/tree"
)

func nouns() []tree.Noun {
	return append(client.Nouns(), []tree.Noun{
		{Name: "experiment", Group: tree.Use, Make: experiment.New},
		{Name: "master", Group: tree.Run, Make: master.New},
		{Name: "agent", Group: tree.Run, Make: agent.New},
		{Name: "host", Group: tree.Run, Make: host.New},
		{Name: "pod", Group: tree.Run, Make: pod.New},
		{Name: "aws", Group: tree.Install, Make: aws.New},
		{Name: "gcp", Group: tree.Install, Make: gcp.New},
		{Name: "k8s", Group: tree.Install, Make: k8s.New},
		{Name: "local", Group: tree.Install, Make: local.New},
		{Name: "list", Group: tree.Install, Make: onAllPlatforms(cluster.NewList)},
		{Name: "status", Group: tree.Install, Make: onAllPlatforms(cluster.NewStatus)},
		{Name: "upgrade", Group: tree.Install, Make: onAllPlatforms(cluster.NewUpgrade)},
		{Name: "down", Group: tree.Install, Make: onAllPlatforms(cluster.NewDown)},
	}...)
}

// onAllPlatforms makes a verb that works on clusters wherever they are.
func onAllPlatforms(verb func(*term.Streams, ...cluster.Platform) *cobra.Command) func(*term.Streams) *cobra.Command {
	return func(s *term.Streams) *cobra.Command {
		return verb(s, aws.Platform{}, gcp.Platform{}, k8s.Platform{}, local.Platform{})
	}
}

// New returns the whole tree.
func New(s *term.Streams) *cobra.Command { return tree.New(s, nouns()) }

// NewFor returns as much of the tree as a command line needs: the noun that it begins
// with, or all of them for help, completion and what is mistyped. The others with their
// hundreds of flags would take longer than most commands do.
func NewFor(s *term.Streams, args []string) *cobra.Command {
	all := nouns()
	if n, found := tree.Wanted(all, args); found {
		all = []tree.Noun{n}
	}
	return tree.New(s, all)
}
