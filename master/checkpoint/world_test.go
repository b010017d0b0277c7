package checkpoint_test

import (
	"testing"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	masterconfig "github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
)

func pointer[T any](v T) *T { return &v }

// configuration returns a configuration with checkpoints in a directory and the given policy.
func configuration(experimentBest, trialBest, trialLatest int) config.Experiment {
	x := config.Default()
	x.Name = pointer("x")
	x.Searcher.Name, x.Searcher.Metric, x.Searcher.SmallerIsBetter = pointer("single"), pointer("loss"), pointer(true)
	x.Environment.Image.CPU = "trainer:1"
	x.CheckpointStorage = config.Storage{
		Type: pointer("directory"), ContainerPath: pointer("/ckpts"),
		SaveExperimentBest: &experimentBest, SaveTrialBest: &trialBest, SaveTrialLatest: &trialLatest,
	}
	return x
}

// putExperiment stores an experiment with its configuration.
func putExperiment(t *testing.T, s *store.Store, id int32, state lifecycle.State, x config.Experiment) {
	t.Helper()
	data, err := x.Store()
	if err != nil {
		t.Fatal(err)
	}
	err = write(t, s, func(tx *store.Tx) error {
		doc := record.Experiment{ID: id, State: state, UserID: 2, Username: "ann", ProjectID: 1, Queue: record.Queue{Pool: "default"}}
		if err := record.Docs().Experiments.Put(tx, record.Key(id), "", start, doc); err != nil {
			return err
		}
		return record.Docs().Configs.Put(tx, record.Key(id), "", start, record.Config{Complete: data})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, cfg checkpoint.Config) *checkpoint.Checkpoints {
	t.Helper()
	if cfg.Workspace == nil {
		cfg.Workspace = func(int32) (int32, error) { return 1, nil }
	}
	c, err := checkpoint.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func inBucket() *masterconfig.CheckpointStorage {
	return &masterconfig.CheckpointStorage{S3: &masterconfig.S3Storage{Bucket: "b", AccessKey: secret.Literal("k"), SecretKey: secret.Literal("hush")}}
}
