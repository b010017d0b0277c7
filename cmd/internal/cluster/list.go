package cluster

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

type listOptions struct {
	*term.Streams

	Output term.Format
}

// NewList returns `det-deploy list`.
func NewList(s *term.Streams) *cobra.Command { return newList(s, runList) }

func newList(s *term.Streams, run func(context.Context, *listOptions) error) *cobra.Command {
	o := &listOptions{Streams: s}
	c := &cobra.Command{
		Use:   "list",
		Short: "List the clusters that are known on this machine",
		Long: `List the clusters that run on this machine and those that were brought up from
it. For an AWS account see det-deploy aws list --all-regions, and for clusters
on Kubernetes, det-deploy k8s list.`,
		Example: "  det-deploy list",
		Args:    usage.Args(),
		RunE:    func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.Output.AddFlag(c.Flags())
	return c
}

// listed is the JSON form of the answer.
type listed struct {
	Schema   string  `json:"schema"`
	Clusters []known `json:"clusters"`
}

func runList(_ context.Context, o *listOptions) error {
	all, err := remembered(o.Streams)
	if err != nil {
		return err
	}
	if o.Output == term.JSON {
		return o.PrintJSON(listed{"det-deploy.list/v1", all})
	}
	if len(all) == 0 {
		o.Notef("No cluster is known on this machine. `det-deploy aws list --all-regions` tells what an AWS account has, `det-deploy k8s list` what a Kubernetes.")
		return nil
	}
	t := term.NewTable("cluster", "platform", "where", "master")
	for _, k := range all {
		t.Row(k.Cluster, k.Platform, k.where(), k.URL)
	}
	return o.PrintTable(t)
}

// where is the region, or the place on Kubernetes.
func (k known) where() string {
	if k.Platform == onK8s {
		return strings.Trim(k.Context+"/"+k.Namespace, "/")
	}
	return k.Region
}
