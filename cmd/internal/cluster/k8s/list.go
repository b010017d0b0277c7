package k8s

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

type listOptions struct {
	*term.Streams
	Where

	Output term.Format
}

func newList(s *term.Streams, run func(context.Context, *listOptions) error) *cobra.Command {
	o := &listOptions{Streams: s}
	c := &cobra.Command{
		Use:   "list",
		Short: "List clusters on Kubernetes",
		Long: `List clusters on Kubernetes: those of one namespace with --namespace, and else
those of every namespace into which the caller may look. A cluster whose chart was
applied without Helm is there as applied, and parts of one that is gone as remains.`,
		Example: `  det-deploy k8s list
  det-deploy k8s list --context prod --output json`,
		Args: usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.addFlags(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

// listed is the JSON form of the answer.
type listed struct {
	Schema string `json:"schema"`

	wire.K8sList
}

func runList(ctx context.Context, o *listOptions) error {
	l, err := wire.ListK8s(ctx, o.at(o.Streams))
	if err != nil {
		return err
	}
	if o.Output == term.JSON {
		return o.PrintJSON(listed{"det-deploy.k8s-list/v1", l})
	}
	if l.OnlyOwn {
		o.Notef("You may not list namespaces, so only one was looked at; --namespace names another.")
	} else if len(l.Closed) > 0 {
		o.Notef("You may not look into %s.", strings.Join(l.Closed, ", "))
	}
	for _, f := range l.Foreign {
		o.Notef("Release %s in namespace %s is Determined's own, %s; det-deploy leaves it as it is.", f.Cluster, f.Namespace, f.Version)
	}
	if len(l.Clusters) == 0 {
		o.Notef("There are no clusters there.")
		return nil
	}
	t := term.NewTable("cluster", "namespace", "version", "release", "changed")
	for _, c := range l.Clusters {
		t.Row(c.Cluster, c.Namespace, c.Version, c.Status, c.Updated.Format(time.RFC3339))
	}
	return o.PrintTable(t)
}
