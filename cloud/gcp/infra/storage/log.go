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

// LogID returns the ID of a cluster's log in Cloud Logging. The log is created by its first entry.
// It has no mark; its name identifies the cluster.
func LogID(cluster string) string { return "det-deploy-" + cluster }

// ListLogs returns the log of the cluster once it has entries.
func ListLogs(ctx context.Context, c *mark.Cluster) ([]resource.Found, error) {
	all, err := api.List(ctx, c.Clients.Logging.Projects.Logs.List(c.Clients.ProjectName()), func(p *logging.ListLogsResponse) []string { return p.LogNames })
	if err != nil || !slices.Contains(all, api.LogName(c.Clients.Project, LogID(c.ID))) {
		return nil, err
	}
	f := c.Found(mark.KindLog, infra.Observed{Identity: LogID(c.ID)})
	f.Launched = true
	return []resource.Found{f}, nil
}

// DeleteLog deletes the entries of a log. Entries written at the same time may remain.
func DeleteLog(ctx context.Context, c *mark.Cluster, id string) error {
	return infra.IgnoreMissing(api.Send(ctx, c.Clients.Logging.Projects.Logs.Delete(api.LogName(c.Clients.Project, id))))
}
