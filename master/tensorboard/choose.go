package tensorboard

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	tasklife "github.com/det-deploy/det-deploy/master/task/lifecycle"
)

const (
	// mostTrials is the maximum number of trials of an experiment, as in Determined 0.38.1: its client says so.
	mostTrials = 100
	// mostExperiments is the maximum number of experiments.
	mostExperiments = 100
)

// choose returns what a request selects, ordered by experiment.
func (t *TensorBoards) choose(ctx context.Context, req *apiv1.LaunchTensorboardRequest) (b tasklife.Board, err error) {
	ids := sortedSet(slices.Concat(req.GetExperimentIds(), t.matching(req.GetFilters())))
	trials := sortedSet(req.GetTrialIds())
	switch {
	case len(ids) == 0 && req.GetFilters() != nil && len(trials) == 0:
		return b, status.New(status.NotFound, "no experiment matches the filters")
	case len(ids) == 0 && len(trials) == 0:
		return b, status.New(status.InvalidArgument, "experimentIds: a TensorBoard needs an experiment or a trial to show")
	case len(ids) > mostExperiments:
		return b, status.New(status.InvalidArgument, "experimentIds: a TensorBoard shows at most %d experiments (got %d); choose some of them", mostExperiments, len(ids))
	case len(trials) > mostTrials:
		return b, status.New(status.InvalidArgument, "trialIds: a TensorBoard shows at most %d trials (got %d); choose some of them, or their experiment", mostTrials, len(trials))
	}
	var parts []tasklife.BoardPart
	for _, id := range ids {
		p, err := t.partOf(ctx, id)
		if err != nil {
			return b, err
		}
		parts = append(parts, p)
	}
	parts, err = t.addTrials(ctx, parts, trials)
	return tasklife.Board{Experiments: ids, Trials: trials, Parts: parts}, err
}

func sortedSet(ids []int32) []int32 { return slices.Compact(slices.Sorted(slices.Values(ids))) }

// matching returns the experiments that filters select; none without filters.
func (t *TensorBoards) matching(f *apiv1.BulkExperimentFilters) (ids []int32) {
	if f == nil {
		return nil
	}
	return t.cfg.Matching(&apiv1.GetExperimentsRequest{
		Description: f.GetDescription(), Name: f.GetName(), Labels: f.GetLabels(), Archived: f.Archived, States: f.GetStates(),
		UserIds: f.GetUserIds(), ProjectId: f.GetProjectId(), ExcludedIds: f.GetExcludedExperimentIds(),
	})
}

// partOf returns what to show of an experiment: all of it, with trials that it will create, or its best
// trials if it has too many.
func (t *TensorBoards) partOf(ctx context.Context, id int32) (tasklife.BoardPart, error) {
	x, err := t.cfg.Experiments.Get(id)
	if err != nil {
		return tasklife.BoardPart{}, err
	}
	part := tasklife.BoardPart{Experiment: id}
	if x.Trials <= mostTrials {
		return part, nil
	}
	trials, err := t.cfg.Experiments.Trials(ctx, id)
	part.Trials = bestTrials(trials, x.Searcher.SmallerIsBetter)
	return part, err
}

// bestTrials returns the IDs of the best trials by the searcher's metric, in ascending order. Trials without
// a validation come last.
func bestTrials(trials []experiment.TrialView, smallerIsBetter bool) []int32 {
	sorted := slices.Clone(trials)
	slices.SortStableFunc(sorted, func(a, b experiment.TrialView) int {
		if a.Best == nil || b.Best == nil {
			return cmp.Compare(unknown(a.Best), unknown(b.Best))
		}
		if smallerIsBetter {
			return cmp.Compare(a.Best.Metric, b.Best.Metric)
		}
		return cmp.Compare(b.Best.Metric, a.Best.Metric)
	})
	var ids []int32
	for _, t := range sorted[:min(len(sorted), mostTrials)] {
		ids = append(ids, t.ID)
	}
	slices.Sort(ids)
	return ids
}

// unknown returns 1 for a trial without a validation.
func unknown(b *record.Best) int {
	if b == nil {
		return 1
	}
	return 0
}

// addTrials adds single trials to parts, unless their experiments are shown as a whole.
func (t *TensorBoards) addTrials(ctx context.Context, parts []tasklife.BoardPart, trials []int32) ([]tasklife.BoardPart, error) {
	for _, id := range trials {
		trial, err := t.cfg.Experiments.Trial(ctx, id)
		if err != nil {
			return nil, err
		}
		at, found := slices.BinarySearchFunc(parts, trial.Experiment, func(p tasklife.BoardPart, id int32) int { return cmp.Compare(p.Experiment, id) })
		if !found {
			parts = slices.Insert(parts, at, tasklife.BoardPart{Experiment: trial.Experiment, Trials: []int32{id}})
			continue
		}
		if p := &parts[at]; len(p.Trials) > 0 && !slices.Contains(p.Trials, id) {
			p.Trials = append(p.Trials, id)
		}
	}
	return parts, nil
}

// checkShown returns FailedPrecondition if an experiment has no files to show.
func checkShown(x record.Experiment, reported bool) error {
	switch {
	case slices.Contains([]lifecycle.State{lifecycle.Deleting, lifecycle.Deleted}, x.State):
		return status.New(status.FailedPrecondition, "cannot show experiment %d: it is being deleted", x.ID)
	case !reported:
		return status.New(status.FailedPrecondition, "cannot show experiment %d yet: none of its trials has started; try again when one runs", x.ID)
	}
	return nil
}

func errMixed(a, b place) error {
	return status.New(status.InvalidArgument, "experiments %d and %d have their files in different storages (%s and %s); start a TensorBoard for each", a.experiment, b.experiment, a.describe(), b.describe())
}

func (p place) describe() string {
	return fmt.Sprintf("%s at %s", *p.storage.Type, p.storage.Location())
}
