package hosted

import (
	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

// listed is the JSON form of the clusters of an account.
type listed struct {
	Schema   string               `json:"schema"`
	Clusters []wire.HostedCluster `json:"clusters"`
}

// List is the answer of list: the clusters of one region, or of all when it is empty.
func List(platform, region string, all []wire.HostedCluster) cluster.Listing {
	l := cluster.Listing{
		JSON:  listed{"det-deploy." + platform + "-list/v1", all},
		None:  "There are no clusters in this account.",
		Table: term.NewTable("cluster", "region", "version", "ready since", "note"),
	}
	if region != "" {
		l.None = "There are no clusters in " + region + "."
	}
	for _, c := range all {
		l.Table.Row(c.Cluster, c.Region, c.Version, c.Ready, c.Note)
	}
	return l
}
