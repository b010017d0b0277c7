package clouds

import (
	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

// listed is the JSON output of list.
type listed struct {
	Schema   string               `json:"schema"`
	Clusters []wire.ListedCluster `json:"clusters"`
}

// list formats the clusters of one place, or of all places if place is empty.
func list(w Words, place string, all []wire.ListedCluster) cluster.Listing {
	l := cluster.Listing{
		JSON:  listed{"det-deploy." + w.Name + "-list/v1", all},
		None:  "There are no clusters in this " + w.Account + ".",
		Table: term.NewTable("cluster", "region", "version", "ready since", "note"),
	}
	if place != "" {
		l.None = "There are no clusters in " + place + "."
	}
	for _, c := range all {
		l.Table.Row(c.Cluster, c.Region, c.Version, c.Ready, c.Note)
	}
	return l
}
