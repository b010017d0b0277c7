package k8s

import (
	"context"
	"fmt"
	"strings"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	k8swire "github.com/det-deploy/det-deploy/cmd/internal/wire/k8s"
)

// listed is version 1 of the JSON output of list.
type listed struct {
	Schema string `json:"schema"`

	k8swire.Listing
}

// List lists the clusters on Kubernetes.
func (w *wanted) List(ctx context.Context) (cluster.Listing, error) {
	all, err := k8swire.List(ctx, w.kubeAt(w.Streams))
	l := cluster.Listing{
		Clusters: append([]k8swire.Listed{}, all.Clusters...), V1: listed{"det-deploy.k8s-list/v1", all}, None: "No clusters found.",
		More:  map[string]any{"foreign": all.Foreign, "unreadableNamespaces": all.Closed, "onlyOwnNamespace": all.OnlyOwn},
		Table: term.NewTable("NAME", "NAMESPACE", "VERSION", "RELEASE", "CHANGED"),
	}
	if all.OnlyOwn {
		l.Notes = append(l.Notes, "You may not list namespaces, so only one was searched; use --namespace to search another.")
	} else if len(all.Closed) > 0 {
		l.Notes = append(l.Notes, fmt.Sprintf("You may not read namespaces %s.", strings.Join(all.Closed, ", ")))
	}
	for _, f := range all.Foreign {
		l.Notes = append(l.Notes, fmt.Sprintf("Release %s in namespace %s is of Determined's own chart, %s; det-deploy does not change it.", f.Cluster, f.Namespace, f.Version))
	}
	for _, c := range all.Clusters {
		l.Table.Row(c.Cluster, c.Namespace, c.Version, c.Status, c.Updated)
	}
	return l, err
}
