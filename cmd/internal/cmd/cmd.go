// Package cmd assembles all commands: the clients of a master, the installers and operators of clusters,
// and the roles of the cluster itself.
package cmd

import (
	"runtime"

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
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/project"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/resources"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/ssh"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/task"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/template"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/top"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/trial"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/user"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/version"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/workspace"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/tree"
)

func nouns() []tree.Noun {
	return []tree.Noun{
		{Group: tree.Use, Make: login.New},
		{Group: tree.Use, Make: login.NewLogout},
		{Group: tree.Use, Make: context.New},
		{Group: tree.Use, Make: task.New},
		{Make: task.NewPS},
		{Group: tree.Use, Make: ssh.NewConfig},
		{Make: ssh.NewProxy},
		{Group: tree.Use, Make: trial.New},
		{Group: tree.Use, Make: checkpoint.New},
		{Group: tree.Use, Make: model.New},
		{Group: tree.Use, Make: workspace.New},
		{Group: tree.Use, Make: project.New},
		{Group: tree.Use, Make: template.New},
		{Group: tree.Use, Make: job.New},
		{Group: tree.Use, Make: pool.New},
		{Group: tree.Use, Make: resources.New},
		{Group: tree.Use, Make: top.New},
		{Group: tree.Use, Make: user.New},
		{Group: tree.Use, Make: audit.New},
		{Make: version.New},
		{Group: tree.Use, Make: experiment.New},
		{Group: tree.Run, Make: master.New},
		{Group: tree.Run, Make: agent.New},
		{Group: tree.Run, Make: host.New},
		{Group: tree.Run, Make: pod.New},
		{Group: tree.Install, Make: aws.New},
		{Group: tree.Install, Make: gcp.New},
		{Group: tree.Install, Make: k8s.New},
		{Group: tree.Install, Make: local.New},
		{Make: newUp},
		{Group: tree.Install, Make: onAllPlatforms(cluster.NewList)},
		{Group: tree.Install, Make: onAllPlatforms(cluster.NewStatus)},
		{Group: tree.Install, Make: onAllPlatforms(cluster.NewUpgrade)},
		{Group: tree.Install, Make: onAllPlatforms(cluster.NewDown)},
	}
}

// onAllPlatforms returns the constructor of a verb that finds the platform of a cluster.
func onAllPlatforms(verb func(*term.Streams, ...cluster.Platform) *cobra.Command) func(*term.Streams) *cobra.Command {
	return func(s *term.Streams) *cobra.Command {
		return verb(s, aws.Platform{}, gcp.Platform{}, k8s.Platform{}, local.Platform{})
	}
}

// New returns the root command with all subcommands.
func New(s *term.Streams) *cobra.Command {
	root := tree.New(s, nouns())
	root.Version = version.Number()
	root.Flags().Bool("version", false, "print the version") // without -v, which is --verbose
	refuseLinuxCommands(root, runtime.GOOS)
	return root
}
