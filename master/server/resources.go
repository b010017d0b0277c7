package server

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/accounting"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Book reports resource usage. If the end of a period is before its start, errors have the code
// InvalidArgument.
type Book interface {
	Raw(ctx context.Context, from, until time.Time) (*apiv1.ResourceAllocationRawResponse, error)
	Aggregate(ctx context.Context, r accounting.Range) (*apiv1.ResourceAllocationAggregatedResponse, error)
	WriteAllocations(ctx context.Context, w io.Writer, from, until time.Time) error
	Usage(ctx context.Context, group apiv1.ResourceUsageGroup, from, until time.Time) (*apiv1.ResourceUsageResponse, error)
	UsageOf(ctx context.Context, job rm.JobID) (*apiv1.ResourceUsage, error)
}

// resourceCalls serves the calls about resource usage, as messages and as CSV.
type resourceCalls struct{ *shared }

func (r *resourceCalls) routes() []route {
	if r.cfg.Book == nil {
		return nil
	}
	return []route{
		getRoute("resources/allocation/raw", login, plainCall(r.raw)),
		getRoute("resources/allocation/aggregated", login, plainCall(r.aggregated)),
		getRoute("resources/usage", login, plainCall(r.usage)),
		getRoute("/resources/allocation/raw", login, tableCall(r.rawTable)),
		getRoute("/resources/allocation/aggregated", login, tableCall(r.aggregatedTable)),
		getRoute("/resources/allocation/allocations-csv", login, tableCall(r.allocations)),
	}
}

// tableCall returns the endpoint of a CSV response.
func tableCall(do func(c *call, w io.Writer) error) endpoint {
	return endpoint{file: "text/csv", serve: func(c *call) error {
		var text bytes.Buffer
		if err := do(c, &text); err != nil {
			return err
		}
		c.w.Header().Set("Content-Type", "text/csv; charset=utf-8")
		c.w.Header().Set("X-Content-Type-Options", "nosniff")
		_ = http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(largeTime)) // not supported by recorders in tests
		_, _ = c.w.Write(text.Bytes())                                                  // the client may have disconnected
		return nil
	}}
}

func (r *resourceCalls) raw(c *call) (*apiv1.ResourceAllocationRawResponse, error) {
	params := c.query()
	from, until := params.NeededTime("timestampAfter"), params.NeededTime("timestampBefore")
	if params.Err() != nil {
		return nil, params.Err()
	}
	return r.cfg.Book.Raw(c.Context(), from, until)
}

func (r *resourceCalls) usage(c *call) (*apiv1.ResourceUsageResponse, error) {
	params := c.query()
	from, until := params.NeededTime("timestampAfter"), params.NeededTime("timestampBefore")
	group := apiv1.ResourceUsageGroup(apiv1.ResourceUsageGroup_value[params.Text("groupBy")])
	if group == apiv1.ResourceUsageGroup_RESOURCE_USAGE_GROUP_UNSPECIFIED {
		params.Reject("groupBy", "one of RESOURCE_USAGE_GROUP_EXPERIMENT, _PROJECT, _WORKSPACE, _USER and _POOL")
	}
	if params.Err() != nil {
		return nil, params.Err()
	}
	return r.cfg.Book.Usage(c.Context(), group, from, until)
}

func (r *resourceCalls) rawTable(c *call, w io.Writer) error {
	out, err := r.raw(c)
	if err != nil {
		return err
	}
	return accounting.WriteRaw(w, out.GetResourceEntries())
}

func (r *resourceCalls) allocations(c *call, w io.Writer) error {
	params := c.query()
	from, until := params.NeededTime("timestampAfter"), params.NeededTime("timestampBefore")
	if params.Err() != nil {
		return params.Err()
	}
	return r.cfg.Book.WriteAllocations(c.Context(), w, from, until)
}

func (r *resourceCalls) aggregated(c *call) (*apiv1.ResourceAllocationAggregatedResponse, error) {
	params := c.query()
	period, err := readPeriod(params.Text("period"))
	if err != nil {
		return nil, err
	}
	first, last := params.Date("startDate", period.Layout()), params.Date("endDate", period.Layout())
	if params.Err() != nil {
		return nil, params.Err()
	}
	if last.Sub(first) > mostDays*24*time.Hour {
		return nil, status.New(status.InvalidArgument, "at most %d days can be aggregated in one request", mostDays)
	}
	return r.cfg.Book.Aggregate(c.Context(), accounting.Range{Period: period, First: first, Last: last})
}

// mostDays limits the number of lines in a response.
const mostDays = 3660

func (r *resourceCalls) aggregatedTable(c *call, w io.Writer) error {
	out, err := r.aggregated(c)
	if err != nil {
		return err
	}
	return accounting.WriteAggregated(w, out.GetResourceEntries())
}

func readPeriod(name string) (accounting.Period, error) {
	switch name {
	case "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY":
		return accounting.Daily, nil
	case "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY":
		return accounting.Monthly, nil
	}
	return "", status.New(status.InvalidArgument,
		"period: must be RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY or RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY (is %q)", excerpt.Of(name))
}
