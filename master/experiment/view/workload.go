package view

import (
	"cmp"
	"context"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/metric"
)

// workload is one thing that a trial did, with what it is sorted by.
type workload struct {
	steps int64
	// kind orders what was done at the same step: training, validation, checkpoint.
	kind   int
	report metric.Report
	saved  checkpoint.Entry
}

const (
	trained = iota
	validated
	saved
)

// Workloads is what a trial reported and saved. What is shown is made for the page alone, which ends early when it is
// large, as that of List does.
func (t *Trials) Workloads(ctx context.Context, r *apiv1.GetTrialWorkloadsRequest) (*apiv1.GetTrialWorkloadsResponse, error) {
	if _, err := t.cfg.Experiments.Trial(ctx, r.GetTrialId()); err != nil {
		return nil, err
	}
	list, err := t.readWorkloads(ctx, r)
	if err != nil {
		return nil, err
	}
	sortBy(list, workloadOrder(r.GetSortKey()), r.GetDescending())
	from, to, page := cutPage(len(list), r.GetOffset(), r.GetLimit())
	out := &apiv1.GetTrialWorkloadsResponse{Pagination: page, Workloads: make([]*apiv1.WorkloadContainer, 0, to-from)}
	size := 0
	for _, w := range list[from:to] {
		c, err := t.showWorkload(ctx, w, r.GetIncludeBatchMetrics())
		if err != nil {
			return nil, err
		}
		out.Workloads = append(out.Workloads, c)
		if size += proto.Size(c); size > pageBytes {
			page.EndIndex = page.GetStartIndex() + int32(len(out.GetWorkloads())) //nolint:gosec // it is at most the end of the page
			break
		}
	}
	return out, nil
}

// readWorkloads reads what the request's filter leaves in.
func (t *Trials) readWorkloads(ctx context.Context, r *apiv1.GetTrialWorkloadsRequest) ([]workload, error) {
	var list []workload
	f := r.GetFilter()
	checkpoints := f != apiv1.GetTrialWorkloadsRequest_FILTER_OPTION_VALIDATION
	validations := f != apiv1.GetTrialWorkloadsRequest_FILTER_OPTION_CHECKPOINT
	training := f == apiv1.GetTrialWorkloadsRequest_FILTER_OPTION_UNSPECIFIED
	for group, wanted := range map[string]bool{metric.Training: training, metric.Validation: validations} {
		if !wanted || r.GetGroup() != "" && r.GetGroup() != group {
			continue
		}
		for report, err := range metric.Read(ctx, t.cfg.Store, int64(r.GetTrialId()), group, math.MinInt64) {
			if err != nil {
				return nil, err
			}
			list = append(list, workload{steps: report.Steps, kind: kindOf(group), report: report})
		}
	}
	if !checkpoints {
		return list, nil
	}
	all, err := checkpoint.ListTrials(ctx, t.cfg.Store, r.GetTrialId())
	for _, c := range all {
		if r.GetRemoveDeletedCheckpoints() && !c.State.Usable() {
			continue
		}
		list = append(list, workload{steps: int64(c.Steps), kind: saved, saved: c})
	}
	return list, err
}

func kindOf(group string) int {
	if group == metric.Validation {
		return validated
	}
	return trained
}

// workloadOrder is by the steps or by the value of a metric; what has none is last.
func workloadOrder(key string) order[workload] {
	bySteps := func(a, b workload) int {
		return cmp.Or(cmp.Compare(a.steps, b.steps), cmp.Compare(a.kind, b.kind), a.saved.Reported.Compare(b.saved.Reported))
	}
	if key == "" || slices.Contains([]string{"batches", "total_batches", "totalBatches"}, key) {
		return bySteps
	}
	return func(a, b workload) int { return cmp.Or(cmp.Compare(a.value(key), b.value(key)), bySteps(a, b)) }
}

func (w workload) value(name string) float64 {
	if x, ok := metric.Number(w.report.Values.Averages[name]); ok {
		return x
	}
	return math.Inf(1)
}

func (t *Trials) showWorkload(ctx context.Context, w workload, withBatches bool) (*apiv1.WorkloadContainer, error) {
	if w.kind == saved {
		c, err := t.showEntry(ctx, w.saved)
		return &apiv1.WorkloadContainer{Checkpoint: c}, err
	}
	m, err := showReport(w.report, withBatches)
	if w.kind == validated {
		return &apiv1.WorkloadContainer{Validation: m}, err
	}
	return &apiv1.WorkloadContainer{Training: m}, err
}
