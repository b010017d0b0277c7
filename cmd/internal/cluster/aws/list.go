package aws

import (
	"context"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

// listed is the JSON form of the answer.
type listed struct {
	Schema   string            `json:"schema"`
	Clusters []wire.AWSCluster `json:"clusters"`
}

// List lists the clusters of the account.
func (w *wanted) List(ctx context.Context) (cluster.Listing, error) {
	l := cluster.Listing{None: "There are no clusters in this account."}
	region := w.Region
	if !w.AllRegions {
		if region == "" {
			var err error
			if region, err = wire.DefaultRegion(ctx, w.Profile); err != nil {
				return l, err
			}
		}
		l.None = "There are no clusters in " + region + "."
	}
	all, err := wire.ListAWS(ctx, region, w.Profile)
	l.JSON = listed{"det-deploy.aws-list/v1", all}
	l.Table = term.NewTable("cluster", "region", "version", "ready since", "note")
	for _, c := range all {
		l.Table.Row(c.Cluster, c.Region, c.Version, c.Ready, c.Note)
	}
	return l, err
}
