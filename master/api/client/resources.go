package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// resources are which slots were in use when.
type resources struct{ *transport }

// ResourceUsage sums up which slots were in use between from and until and what they cost,
// the largest use first.
func (r resources) ResourceUsage(ctx context.Context, group apiv1.ResourceUsageGroup, from, until time.Time) ([]*apiv1.ResourceUsage, error) {
	out := &apiv1.ResourceUsageResponse{}
	query := url.Values{
		"groupBy":        {group.String()},
		"timestampAfter": {from.UTC().Format(time.RFC3339)}, "timestampBefore": {until.UTC().Format(time.RFC3339)},
	}
	err := r.do(ctx, call{op: "sum up the use of slots", method: http.MethodGet, path: "/api/v1/resources/usage", query: query, out: out})
	return out.GetUsage(), err
}
