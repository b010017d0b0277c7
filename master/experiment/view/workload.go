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

// workload is a training report, a validation or a checkpoint, with its sort keys.
type workload struct {
	steps int64
	// kind orders workloads of the same step: training, validation, checkpoint.
	kind int
	// group is the group of a report, and value its value of the metric that is sorted by. The other
	// metrics are read when the workload is shown, because all reports of a trial may not fit into
	// memory.
	group string
	value float64
	saved checkpoint.Entry
}

const (
	trained = iota
	validated
	saved
)

// Workloads returns the requested page of a trial's reports and checkpoints. A page that exceeds
// pageBytes ends early, as in List.
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
	for i, w := range list[from:to] {
		c, found, err := t.showWorkload(ctx, w, r)
		if err != nil {
			return nil, err
		}
		if !found {
			continue // replaced by a later run
		}
		out.Workloads = append(out.Workloads, c)
		if size += proto.Size(c); size > pageBytes {
			page.EndIndex = page.GetStartIndex() + int32(i+1) //nolint:gosec // it is at most the end of the page
			break
		}
	}
	return out, nil
}

// readWorkloads returns the workloads that match the request's filter.
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
			list = append(list, workload{steps: report.Steps, kind: kindOf(group), group: group, value: valueOf(report, r.GetSortKey())})
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
		list = append(list, workload{steps: int64(c.Steps), kind: saved, value: math.Inf(1), saved: c})
	}
	return list, err
}

func kindOf(group string) int {
	if group == metric.Validation {
		return validated
	}
	return trained
}

// workloadOrder orders by steps, or by the value of a metric with missing values last.
func workloadOrder(key string) order[workload] {
	bySteps := func(a, b workload) int {
		return cmp.Or(cmp.Compare(a.steps, b.steps), cmp.Compare(a.kind, b.kind), a.saved.Reported.Compare(b.saved.Reported))
	}
	if key == "" || slices.Contains([]string{"batches", "total_batches", "totalBatches"}, key) {
		return bySteps
	}
	return func(a, b workload) int { return cmp.Or(cmp.Compare(a.value, b.value), bySteps(a, b)) }
}

func valueOf(r metric.Report, name string) float64 {
	if x, ok := metric.Number(r.Values.Averages[name]); ok {
		return x
	}
	return math.Inf(1)
}

func (t *Trials) showWorkload(ctx context.Context, w workload, r *apiv1.GetTrialWorkloadsRequest) (_ *apiv1.WorkloadContainer, found bool, err error) {
	if w.kind == saved {
		c, err := t.showEntry(ctx, w.saved)
		return &apiv1.WorkloadContainer{Checkpoint: c}, true, err
	}
	report, found, err := metric.At(ctx, t.cfg.Store, int64(r.GetTrialId()), w.group, w.steps)
	if err != nil || !found {
		return nil, false, err
	}
	m, err := showReport(report, r.GetIncludeBatchMetrics())
	if w.kind == validated {
		return &apiv1.WorkloadContainer{Validation: m}, true, err
	}
	return &apiv1.WorkloadContainer{Training: m}, true, err
}
