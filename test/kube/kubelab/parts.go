package main

import (
	"log/slog"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/test/kube/lab"
)

// parts returns hidden commands for the programs of a cluster that are not part of Kubernetes. The
// lab starts them; they are not for users.
func parts(l *lab.Lab) []*cobra.Command {
	var netns, cgroup string
	enter := &cobra.Command{
		Use: "enter", Hidden: true, Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return lab.Enter(netns, cgroup, args) },
	}
	enter.Flags().StringVar(&netns, "netns", "", "network namespace to enter")
	enter.Flags().StringVar(&cgroup, "cgroup", "", "cgroup to enter")
	return []*cobra.Command{
		enter,
		{Use: "egress", Hidden: true, Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
			return l.ServeEgress(c.Context())
		}},
		{Use: "provisioner", Hidden: true, Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
			return l.Provision(c.Context(), slog.New(slog.NewTextHandler(os.Stderr, nil)))
		}},
		{Use: "gpu-plugin", Hidden: true, Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
			count, err := strconv.Atoi(args[0])
			if err != nil {
				return err
			}
			return l.ServeGPUs(c.Context(), count)
		}},
	}
}
