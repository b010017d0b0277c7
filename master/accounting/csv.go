package accounting

import (
	"context"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/internal/spreadsheet"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// WriteRaw writes a CSV table with a line for each entry of a list.
func WriteRaw(w io.Writer, list []*apiv1.ResourceAllocationRawEntry) error {
	out := spreadsheet.NewWriter(w)
	out.Write("experiment_id", "kind", "username", "labels", "slots", "start_time", "end_time", "seconds")
	for _, e := range list {
		end := ""
		if e.GetEndTime() != nil {
			end = inLine(e.GetEndTime().AsTime())
		}
		out.Write(
			number(e.GetExperimentId()), e.GetKind(), e.GetUsername(), strings.Join(e.GetLabels(), ","), number(e.GetSlots()),
			inLine(e.GetStartTime().AsTime()), end, decimal(e.GetSeconds()),
		)
	}
	return out.Flush()
}

// WriteAggregated writes a CSV table with a line for each sum of each period.
func WriteAggregated(w io.Writer, list []*apiv1.ResourceAllocationAggregatedEntry) error {
	out := spreadsheet.NewWriter(w)
	out.Write("aggregation_type", "aggregation_key", "date", "seconds")
	for _, e := range list {
		for _, by := range []struct {
			name string
			sums map[string]float64
		}{
			{"experiment_label", e.GetByExperimentLabel()},
			{"username", e.GetByUsername()},
			{"resource_pool", e.GetByResourcePool()},
			{"total", map[string]float64{"total": e.GetSeconds()}},
		} {
			for _, key := range slices.Sorted(maps.Keys(by.sums)) {
				out.Write(by.name, key, e.GetPeriodStart(), decimal(by.sums[key]))
			}
		}
	}
	return out.Flush()
}

// WriteAllocations writes a CSV table with a line for each allocation that had slots between from
// and until. Its images are pulled between placement and start.
func (b *Book) WriteAllocations(ctx context.Context, w io.Writer, from, until time.Time) error {
	list, err := b.Between(ctx, from, until)
	if err != nil {
		return err
	}
	out := spreadsheet.NewWriter(w)
	out.Write("allocation_id", "task_type", "username", "workspace_name", "experiment_id", "slots", "start_time", "end_time", "imagepulling_time")
	for _, e := range list {
		id, end := "", ""
		if x := b.Experiment(e.Job); x.ID != 0 {
			id = number(x.ID)
		}
		if !e.End.IsZero() {
			end = inLine(e.End)
		}
		pulling := time.Duration(0)
		if !e.Ran.IsZero() {
			pulling = e.Ran.Sub(e.Start)
		}
		out.Write(
			string(e.Allocation), e.Kind, e.Username, b.Workspace(e.Workspace), id, number(int32(e.Slots)), inLine(e.Start), end,
			decimal(pulling.Seconds()),
		)
	}
	return out.Flush()
}

func inLine(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func number(n int32) string { return strconv.Itoa(int(n)) }

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', 6, 64) }
