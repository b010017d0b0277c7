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

// Book reports the usage of slots by time and owner.
type Book struct {
	Store store.Reader
	// Placed returns the allocations that have slots now.
	Placed func() []Entry
	// Experiment returns the experiment of a job, or the zero Subject.
	Experiment func(rm.JobID) Subject
	// Workspace returns the name of a workspace, and Project the names of a project and its
	// workspace. Both return "" for deleted ones.
	Workspace, Project func(id int32) string
	Now                func() time.Time
}

// Between returns the allocations that had slots between from and until, by start time. It returns
// an error of code InvalidArgument if until is before from.
func (b *Book) Between(ctx context.Context, from, until time.Time) ([]Entry, error) {
	if until.Before(from) {
		return nil, status.New(status.InvalidArgument, "the time from %s until %s ends before it begins",
			from.UTC().Format(time.RFC3339), until.UTC().Format(time.RFC3339))
	}
	// An allocation that ends between the two reads is in both.
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

// Raw returns the same as API messages, limited to the time range.
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

// kindName returns the name of a kind in Determined's reports.
func kindName(kind string) string {
	if kind == "TRIAL" {
		return "training"
	}
	return strings.ToLower(kind)
}

// Aggregate returns the sums of the periods of r. It returns the errors of Between.
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
