package clouds

import (
	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

// listed is version 1 of the JSON output of list.
type listed struct {
	Schema   string               `json:"schema"`
	Clusters []wire.ListedCluster `json:"clusters"`
}

// list formats the clusters of one place, or of all places if place is empty.
func list(w Words, place string, all []wire.ListedCluster) cluster.Listing {
	l := cluster.Listing{
		Clusters: append([]wire.ListedCluster{}, all...), V1: listed{"det-deploy." + w.Name + "-list/v1", all},
		None:  "There are no clusters in this " + w.Account + ".",
		Table: term.NewTable("NAME", "REGION", "VERSION", "READY", "NOTE"),
	}
	if place != "" {
		l.None = "There are no clusters in " + place + "."
	}
	for _, c := range all {
		l.Table.Row(c.Cluster, c.Region, c.Version, c.Ready, c.Note)
	}
	return l
}
