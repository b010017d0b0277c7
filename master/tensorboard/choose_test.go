package tensorboard

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	tasklife "github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// experiments are 1 and 2, with the trials 11 and 12 of the first, and 21 of the second.
type experiments struct{}

func (experiments) Get(id int32) (experiment.View, error) {
	if id > 2 {
		return experiment.View{}, status.Missing("experiment", strconv.Itoa(int(id)))
	}
	return experiment.View{Experiment: record.Experiment{ID: id, Trials: 2}}, nil
}

func (experiments) Trials(context.Context, int32) ([]experiment.TrialView, error) { return nil, nil }

func (experiments) Trial(_ context.Context, id int32) (experiment.TrialView, error) {
	if id > 21 {
		return experiment.TrialView{}, status.Missing("trial", strconv.Itoa(int(id)))
	}
	return experiment.TrialView{Trial: record.Trial{ID: id, Experiment: id / 10}}, nil
}

func TestChosenParts(t *testing.T) {
	t.Parallel()
	many := make([]int32, mostTrials+1)
	for i := range many {
		many[i] = int32(i)
	}
	boards := New(Config{Experiments: experiments{}, Matching: func(r *apiv1.GetExperimentsRequest) []int32 {
		if r.GetName() == "none" {
			return nil
		}
		return []int32{1}
	}})
	for name, tc := range map[string]struct {
		request *apiv1.LaunchTensorboardRequest
		want    []tasklife.BoardPart
		refusal status.Code
	}{
		"experiments":                  {&apiv1.LaunchTensorboardRequest{ExperimentIds: []int32{2, 1, 2}}, []tasklife.BoardPart{{Experiment: 1}, {Experiment: 2}}, 0},
		"trials":                       {&apiv1.LaunchTensorboardRequest{TrialIds: []int32{21, 11, 12, 11}}, []tasklife.BoardPart{{Experiment: 1, Trials: []int32{11, 12}}, {Experiment: 2, Trials: []int32{21}}}, 0},
		"a trial and its experiment":   {&apiv1.LaunchTensorboardRequest{ExperimentIds: []int32{1}, TrialIds: []int32{11}}, []tasklife.BoardPart{{Experiment: 1}}, 0},
		"filters":                      {&apiv1.LaunchTensorboardRequest{Filters: &apiv1.BulkExperimentFilters{Name: "some"}}, []tasklife.BoardPart{{Experiment: 1}}, 0},
		"filters that nothing matches": {&apiv1.LaunchTensorboardRequest{Filters: &apiv1.BulkExperimentFilters{Name: "none"}}, nil, status.NotFound},
		"nothing":                      {&apiv1.LaunchTensorboardRequest{}, nil, status.InvalidArgument},
		"an unknown experiment":        {&apiv1.LaunchTensorboardRequest{ExperimentIds: []int32{3}}, nil, status.NotFound},
		"an unknown trial":             {&apiv1.LaunchTensorboardRequest{TrialIds: []int32{31}}, nil, status.NotFound},
		"too many trials":              {&apiv1.LaunchTensorboardRequest{TrialIds: many}, nil, status.InvalidArgument},
		"too many experiments":         {&apiv1.LaunchTensorboardRequest{ExperimentIds: many}, nil, status.InvalidArgument},
	} {
		got, err := boards.choose(t.Context(), tc.request)
		if tc.refusal != 0 {
			if status.Of(err) != tc.refusal {
				t.Errorf("%s: got %v, want the code %s", name, err, tc.refusal)
			}
			continue
		}
		if diff := cmp.Diff(got.Parts, tc.want); err != nil || diff != "" {
			t.Errorf("%s: %v (-got +want):\n%s", name, err, diff)
		}
	}
}

// The IDs of a request are kept once each, however often it has them.
func TestChosenIDs(t *testing.T) {
	t.Parallel()
	boards := New(Config{Experiments: experiments{}, Matching: func(*apiv1.GetExperimentsRequest) []int32 { return []int32{2} }})
	got, err := boards.choose(t.Context(), &apiv1.LaunchTensorboardRequest{
		ExperimentIds: slices.Repeat([]int32{1}, 1000), TrialIds: slices.Repeat([]int32{12, 11}, 1000), Filters: &apiv1.BulkExperimentFilters{},
	})
	if want := (tasklife.Board{
		Experiments: []int32{1, 2}, Trials: []int32{11, 12}, Parts: []tasklife.BoardPart{{Experiment: 1}, {Experiment: 2}},
	}); err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %+v and %v, want %+v", got, err, want)
	}
}

func TestExperimentsWithoutFiles(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		state    lifecycle.State
		reported bool
		ok       bool
	}{{lifecycle.Active, true, true}, {lifecycle.Completed, true, true}, {lifecycle.Active, false, false}, {lifecycle.Deleting, true, false}} {
		if err := checkShown(record.Experiment{ID: 1, State: tc.state}, tc.reported); (err == nil) != tc.ok || err != nil && status.Of(err) != status.FailedPrecondition {
			t.Errorf("%s, reported %t: got %v, want it shown: %t", tc.state, tc.reported, err, tc.ok)
		}
	}
}
