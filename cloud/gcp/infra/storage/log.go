package storage

import (
	"context"
	"slices"

	"google.golang.org/api/logging/v2"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// LogID is the log of a cluster in Cloud Logging. The first entry makes it, and it has
// no mark: its name alone is the cluster's.
func LogID(cluster string) string { return "det-deploy-" + cluster }

// ListLogs lists the log of the cluster once its machines have written into it.
func ListLogs(ctx context.Context, c *mark.Cluster) ([]resource.Found, error) {
	all, err := api.List(ctx, c.Clients.Logging.Projects.Logs.List(c.Clients.ProjectName()), func(p *logging.ListLogsResponse) []string { return p.LogNames })
	if err != nil || !slices.Contains(all, api.LogName(c.Clients.Project, LogID(c.ID))) {
		return nil, err
	}
	f := c.Found(mark.KindLog, infra.Observed{Identity: LogID(c.ID)})
	f.Launched = true
	return []resource.Found{f}, nil
}

// DeleteLog removes the entries of a log. Those that are written at the same moment may
// stay.
func DeleteLog(ctx context.Context, c *mark.Cluster, id string) error {
	return infra.IgnoreMissing(api.Send(ctx, c.Clients.Logging.Projects.Logs.Delete(api.LogName(c.Clients.Project, id))))
}
