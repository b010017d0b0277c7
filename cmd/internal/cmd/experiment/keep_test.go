package experiment

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func TestKeptNumbersWithoutAFlagStay(t *testing.T) {
	t.Parallel()
	config, err := structpb.NewStruct(map[string]any{
		"checkpoint_storage": map[string]any{"save_experiment_best": 1, "save_trial_best": 2, "save_trial_latest": 3},
	})
	if err != nil {
		t.Fatal(err)
	}
	k := keepCounts{ExperimentBest: 7, TrialBest: 0}
	got := k.over(func(flag string) bool { return flag != trialLatestFlag }, config)
	want := &apiv1.PatchExperiment_PatchCheckpointStorage{SaveExperimentBest: 7, SaveTrialBest: 0, SaveTrialLatest: 3}
	if !proto.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if (&keepCounts{TrialBest: -1}).validate() == nil {
		t.Error("-1 was accepted")
	}
}
