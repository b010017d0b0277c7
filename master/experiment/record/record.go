// Package record defines the stored documents of experiments: the experiment, its configuration, its
// trials and its events. Ended experiments occupy about 1 KB of memory for their record;
// configurations, trials and events are read on demand.
package record

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/det-deploy/det-deploy/master/store"
)

// Collections are the collections of experiment documents.
type Collections struct {
	Experiments store.Collection[Experiment]
	// Configs use the ID of their experiment.
	Configs store.Collection[Config]
	// Shown reads a part of the same documents.
	Shown store.Collection[ShownConfig]
	// Trials have their experiment as parent.
	Trials store.Collection[Trial]
	// Hparams are the hyperparameters by trial. They are stored separately, because they are large
	// and most readers of a trial do not need them.
	Hparams store.Collection[json.RawMessage]
	// Events are numbered from 1 in each experiment. EventParents returns their parents.
	Events store.Collection[Event]
	// Metadata is the metadata that programs report, by trial.
	Metadata store.Collection[map[string]any]
	// Sources are the trials that started from a checkpoint, which is their parent.
	Sources store.Collection[struct{}]
	// Users are the trials that reported the use of a checkpoint, which is their parent; see
	// UserKey.
	Users store.Collection[int32]
	// Parts are the parts of packed model definitions; their parent is the experiment.
	Parts store.Collection[[]byte]
	// External maps external IDs to experiment IDs.
	External store.Collection[int32]
	// Counters hold the last ID that an experiment or a trial received.
	Counters store.Collection[int32]
}

// Docs returns the collections.
func Docs() Collections {
	return Collections{
		Experiments: store.Collection[Experiment]{Kind: "experiment"},
		Configs:     store.Collection[Config]{Kind: "experiment_config"},
		Shown:       store.Collection[ShownConfig]{Kind: "experiment_config"},
		Trials:      store.Collection[Trial]{Kind: "trial"},
		Hparams:     store.Collection[json.RawMessage]{Kind: "trial_hparams"},
		Events:      store.Collection[Event]{Kind: "event"},
		Metadata:    store.Collection[map[string]any]{Kind: "run_metadata"},
		Sources:     store.Collection[struct{}]{Kind: "checkpoint_source"},
		Users:       store.Collection[int32]{Kind: "checkpoint_user"},
		Parts:       store.Collection[[]byte]{Kind: "model_definition"},
		External:    store.Collection[int32]{Kind: "external_experiment"},
		Counters:    store.Collection[int32]{Kind: "experiment_counter"},
	}
}

// Key returns the ID of an experiment or a trial as a document ID or parent. Its fixed width keeps
// documents in numeric order.
func Key(id int32) string { return fmt.Sprintf("%010d", id) }

// ReadKey is the inverse of Key. It returns an error if the key is not a number.
func ReadKey(key string) (int32, error) {
	n, err := strconv.ParseInt(key, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("read the key %q of an experiment or a trial: %w", key, err)
	}
	return int32(n), nil
}

// EventParents returns the parents of an experiment's events: one for the events from which the
// search is rebuilt, one for all others.
func EventParents(experiment int32) (search, others string) {
	return Key(experiment) + "/search", Key(experiment)
}

// EventKey returns the document ID of an event.
func EventKey(experiment int32, number int) string {
	return fmt.Sprintf("%010d-%010d", experiment, number)
}

// UserKey returns the document ID of a trial that uses a checkpoint.
func UserKey(checkpoint string, trial int32) string { return checkpoint + "/" + Key(trial) }
