package checkpoint_test

import (
	"testing"

	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/storetest"
)

func TestStorageID(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	number := func(place config.Storage) (id int32) {
		t.Helper()
		err := write(t, s, func(tx *store.Tx) (err error) {
			id, err = checkpoint.StorageID(t.Context(), tx, place)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	bucket := config.StorageOf(*inBucket())
	other := bucket
	other.Bucket = pointer("c")
	first, second := number(bucket), number(other)
	bucket.SaveTrialBest = pointer(9)
	if again := number(bucket); first != 1 || second != 2 || again != first {
		t.Errorf("got %d, %d and %d, want 1, 2 and 1", first, second, again)
	}
	got, err := checkpoint.StorageOf(t.Context(), s, 7, second)
	if err != nil || *got.Bucket != "c" || got.SecretKey.Reveal() != "hush" {
		t.Errorf("got %v, error %v; want the second bucket with its keys", got, err)
	}
	_, err = checkpoint.StorageOf(t.Context(), s, 7, 9)
	wantError(t, err, "checkpoint storage 9 is not in the store")
}

func TestRunStorage(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	elsewhere := configuration(0, 1, 1)
	elsewhere.CheckpointStorage = config.Storage{}
	putExperiment(t, s, 1, lifecycle.Active, configuration(0, 1, 1))
	putExperiment(t, s, 2, lifecycle.Active, elsewhere)
	said := map[string]any{"type": "s3", "bucket": "b", "save_trial_best": 1}
	for i, want := range []string{"directory", "s3"} {
		experiment := int32(i + 1)
		id, err := checkpoint.RunStorage(t.Context(), s, experiment, said)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkpoint.CheckRunStorage(t.Context(), s, experiment, id); err != nil {
			t.Error(err)
		}
		place, err := checkpoint.StorageOf(t.Context(), s, experiment, id)
		if err != nil || *place.Type != want {
			t.Errorf("experiment %d: got %v, error %v; want %s", experiment, place.Type, err, want)
		}
	}
	if id, err := checkpoint.RunStorage(t.Context(), s, 2, nil); id != 0 || err != nil {
		t.Errorf("got %d, error %v for a run without a storage, want 0", id, err)
	}
	_, err := checkpoint.RunStorage(t.Context(), s, 2, map[string]any{"type": "s3", "buckett": "b"})
	wantError(t, err, "buckett")
	// Otherwise a user could read and delete in another user's storage with its keys.
	wantError(t, checkpoint.CheckRunStorage(t.Context(), s, 1, 2), "no run of experiment 1 uses storage 2")
	wantError(t, checkpoint.CheckRunStorage(t.Context(), s, 2, 9), "storage 9")
}
