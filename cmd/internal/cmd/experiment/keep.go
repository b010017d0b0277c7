package experiment

import (
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// keepCounts are the numbers of checkpoints to keep.
type keepCounts struct{ ExperimentBest, TrialBest, TrialLatest int32 }

const (
	experimentBestFlag = "save-experiment-best"
	trialBestFlag      = "save-trial-best"
	trialLatestFlag    = "save-trial-latest"
)

func keepFlags() []string { return []string{experimentBestFlag, trialBestFlag, trialLatestFlag} }

func (k *keepCounts) addFlags(f *pflag.FlagSet) {
	f.Int32Var(&k.ExperimentBest, experimentBestFlag, 0, "number of best checkpoints of the experiment to keep")
	f.Int32Var(&k.TrialBest, trialBestFlag, 0, "number of best checkpoints of each trial to keep")
	f.Int32Var(&k.TrialLatest, trialLatestFlag, 0, "number of latest checkpoints of each trial to keep")
}

func (k *keepCounts) validate() error {
	for i, n := range []int32{k.ExperimentBest, k.TrialBest, k.TrialLatest} {
		if n < 0 {
			return usage.Errorf("--%s %d: must be 0 or more", keepFlags()[i], n)
		}
	}
	return nil
}

// over returns the change of a configuration in which the given flags replace its numbers. The API changes
// all of them at once.
func (k *keepCounts) over(given func(flag string) bool, config *structpb.Struct) *apiv1.PatchExperiment_PatchCheckpointStorage {
	storage := config.GetFields()["checkpoint_storage"].GetStructValue().GetFields()
	value := func(flag, key string, n int32) int32 {
		if given(flag) {
			return n
		}
		return int32(storage[key].GetNumberValue())
	}
	return &apiv1.PatchExperiment_PatchCheckpointStorage{
		SaveExperimentBest: value(experimentBestFlag, "save_experiment_best", k.ExperimentBest),
		SaveTrialBest:      value(trialBestFlag, "save_trial_best", k.TrialBest),
		SaveTrialLatest:    value(trialLatestFlag, "save_trial_latest", k.TrialLatest),
	}
}
