package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
)

// place is a storage including its keys. It must not leave the store.
type place struct {
	YAML string `json:"yaml"`
}

// storages are documents by number; their parent is the hash of their content.
func storages() store.Collection[place] {
	return store.Collection[place]{Kind: "checkpoint_storage"}
}

// StorageID returns the number of a storage. Storages with the same location and keys share a
// number.
func StorageID(ctx context.Context, tx *store.Tx, s config.Storage) (int32, error) {
	s.SaveExperimentBest, s.SaveTrialBest, s.SaveTrialLatest = nil, nil, nil
	data, err := document.MarshalWithSecrets(s)
	if err != nil {
		return 0, fmt.Errorf("store a checkpoint storage: %w", err)
	}
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	same, err := storages().ByParent(ctx, tx, hash)
	if err != nil {
		return 0, err
	}
	if len(same) > 0 {
		return storageNumber(same[0].ID)
	}
	last, found, err := storages().Last(ctx, tx)
	if err != nil {
		return 0, err
	}
	id := int32(1)
	if found {
		if id, err = storageNumber(last.ID); err != nil {
			return 0, err
		}
		id++
	}
	return id, storages().Put(tx, record.Key(id), hash, time.Time{}, place{string(data)})
}

func storageNumber(id string) (int32, error) {
	n, err := strconv.ParseInt(id, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("read the number of checkpoint storage %q: %w", id, err)
	}
	return int32(n), nil
}

// StorageOf returns the storage with the given number, or that of the experiment's configuration for
// number 0, including its keys. It returns an error if the storage is missing from the store.
func StorageOf(ctx context.Context, r store.Reader, experiment, id int32) (config.Storage, error) {
	if id == 0 {
		x, err := ConfigOf(ctx, r, experiment)
		return x.CheckpointStorage, err
	}
	d, found, err := storages().Get(ctx, r, record.Key(id))
	if err != nil {
		return config.Storage{}, err
	}
	if !found {
		return config.Storage{}, fmt.Errorf("checkpoint storage %d is not in the store; restore a backup", id)
	}
	var s config.Storage
	if err := document.Decode([]byte(d.Value.YAML), "stored checkpoint storage", &s); err != nil {
		return config.Storage{}, fmt.Errorf("load checkpoint storage %d: %w", id, err)
	}
	return s, nil
}

// ConfigOf returns an experiment's complete configuration including secrets.
func ConfigOf(ctx context.Context, r store.Reader, experiment int32) (config.Experiment, error) {
	d, found, err := record.Docs().Configs.Get(ctx, r, record.Key(experiment))
	if err != nil {
		return config.Experiment{}, err
	}
	if !found {
		return config.Experiment{}, fmt.Errorf("the configuration of experiment %d is not in the store; restore a backup", experiment)
	}
	return config.Load(d.Value.Complete)
}

// RunStorage returns the number of the storage for the checkpoints of a run: the storage of the
// experiment's configuration, or for an unmanaged experiment without one the storage that the run
// reports. It returns 0 if neither names a storage.
func RunStorage(ctx context.Context, s *store.Store, experiment int32, said map[string]any) (id int32, err error) {
	x, err := ConfigOf(ctx, s, experiment)
	if err != nil {
		return 0, err
	}
	place := x.CheckpointStorage
	if place.Type == nil {
		if place, err = readStorage(said); err != nil || place.Type == nil {
			return 0, err
		}
	}
	err = s.Write(ctx, func(tx *store.Tx) (err error) {
		if id, err = StorageID(ctx, tx, place); err != nil {
			return err
		}
		return runStorages().Put(tx, runStorageKey(experiment, id), record.Key(experiment), time.Time{}, struct{}{})
	})
	return id, err
}

// runStorages are the storages that the runs of experiments may use; their parent is the experiment.
func runStorages() store.Collection[struct{}] {
	return store.Collection[struct{}]{Kind: "checkpoint_run_storage"}
}

func runStorageKey(experiment, id int32) string { return record.Key(experiment) + "/" + record.Key(id) }

// CheckRunStorage returns InvalidArgument if no run of the experiment received the storage number,
// because the keys of that storage may belong to another user. Number 0 is always accepted.
func CheckRunStorage(ctx context.Context, r store.Reader, experiment, id int32) error {
	if id == 0 {
		return nil
	}
	_, found, err := runStorages().Get(ctx, r, runStorageKey(experiment, id))
	if err == nil && !found {
		err = status.New(status.InvalidArgument,
			"storage_id: no run of experiment %d uses storage %d; report the ID that the run received when it started, or none", experiment, id)
	}
	return err
}

// readStorage decodes a storage that a run reports.
func readStorage(said map[string]any) (config.Storage, error) {
	var place config.Storage
	data, err := json.Marshal(said)
	if err == nil && len(said) > 0 {
		err = document.Decode(data, "checkpoint_storage", &place)
	}
	if err != nil {
		return config.Storage{}, status.New(status.InvalidArgument, "checkpoint_storage: %v", err)
	}
	return place, nil
}
