package accounting

import (
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
)

// Book answers what was used when, by whom.
type Book struct {
	Store store.Reader
	// Placed lists the allocations that have their slots now.
	Placed func() []Entry
	// Experiment is the experiment that a job is; the zero Subject for none.
	Experiment func(rm.JobID) Subject
	// Workspace is the name of one, and Project that of one with its workspace; both are
	// empty for what is gone.
	Workspace, Project func(id int32) string
	Now                func() time.Time
}

// Between lists what had slots between from and until, by its start. The error has the code
// InvalidArgument for a time that ends before it begins.
func (b *Book) Between(ctx context.Context, from, until time.Time) ([]Entry, error) {
	if until.Before(from) {
		return nil, status.New(status.InvalidArgument, "the time from %s until %s ends before it begins",
			from.UTC().Format(time.RFC3339), until.UTC().Format(time.RFC3339))
	}
	// What ends between the two reads is in both.
	placed := b.Placed()
	out, err := Ended(ctx, b.Store, from, until)
	if err != nil {
		return nil, err
	}
	for _, e := range placed {
		known := slices.ContainsFunc(out, func(o Entry) bool { return o.Allocation == e.Allocation })
		if !known && e.Start.Before(until) {
			out = append(out, e)
		}
	}
	Sort(out)
	return out, nil
}

// Raw lists the same as clients see it, cut to the time that is asked for.
func (b *Book) Raw(ctx context.Context, from, until time.Time) (*apiv1.ResourceAllocationRawResponse, error) {
	list, err := b.Between(ctx, from, until)
	if err != nil {
		return nil, err
	}
	out := &apiv1.ResourceAllocationRawResponse{}
	for _, e := range list {
		out.ResourceEntries = append(out.ResourceEntries, b.rawEntry(e, from, until))
	}
	return out, nil
}

func (b *Book) rawEntry(e Entry, from, until time.Time) *apiv1.ResourceAllocationRawEntry {
	x := b.Experiment(e.Job)
	start, end := e.within(from, earlier(until, b.Now()))
	out := &apiv1.ResourceAllocationRawEntry{
		Kind: kindName(e.Kind), ExperimentId: x.ID, Labels: x.Labels, Username: e.Username, UserId: e.UserID,
		StartTime: timestamppb.New(start), Seconds: end.Sub(start).Seconds(), Slots: int32(e.Slots),
	}
	if !e.End.IsZero() {
		out.EndTime = timestamppb.New(end)
	}
	return out
}

// kindName is the kind as reports of Determined have it.
func kindName(kind string) string {
	if kind == "TRIAL" {
		return "training"
	}
	return strings.ToLower(kind)
}

// Aggregate sums up the periods of r. The errors are those of Between.
func (b *Book) Aggregate(ctx context.Context, r Range) (*apiv1.ResourceAllocationAggregatedResponse, error) {
	list, err := b.Between(ctx, r.First, r.Period.Next(r.Last))
	if err != nil {
		return nil, err
	}
	labels := func(e Entry) []string { return b.Experiment(e.Job).Labels }
	out := &apiv1.ResourceAllocationAggregatedResponse{}
	for _, s := range Add(list, r, b.Now(), labels) {
		out.ResourceEntries = append(out.ResourceEntries, s.show(r.Period))
	}
	return out, nil
}

func (s Sum) show(p Period) *apiv1.ResourceAllocationAggregatedEntry {
	return &apiv1.ResourceAllocationAggregatedEntry{
		PeriodStart: s.Start.Format(p.Layout()), Period: periods[p], Seconds: s.Total.Seconds(),
		ByUsername: inSeconds(s.ByUser), ByExperimentLabel: inSeconds(s.ByLabel), ByResourcePool: inSeconds(s.ByPool),
	}
}

var periods = map[Period]apiv1.ResourceAllocationAggregationPeriod{
	Daily:   apiv1.ResourceAllocationAggregationPeriod_RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY,
	Monthly: apiv1.ResourceAllocationAggregationPeriod_RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY,
}

func inSeconds(times map[string]time.Duration) map[string]float64 {
	out := map[string]float64{}
	for k, t := range times {
		out[k] = t.Seconds()
	}
	return out
}
