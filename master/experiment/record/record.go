// Package record is what the store keeps of experiments: the experiment itself, its configuration
// apart from it, its trials, and its events. An ended experiment is in memory as its record alone,
// about 1 KB; configurations, trials and events are read when they are asked for.
package record

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/det-deploy/det-deploy/master/store"
)

// Collections are the documents of experiments by kind.
type Collections struct {
	Experiments store.Collection[Experiment]
	// Configs have the id of their experiment.
	Configs store.Collection[Config]
	// Shown are the same documents, read in part.
	Shown store.Collection[ShownConfig]
	// Trials have their experiment as parent.
	Trials store.Collection[Trial]
	// Hparams are the hyperparameters of trials, by trial: they are large, and few of those who read a trial read them.
	Hparams store.Collection[json.RawMessage]
	// Events are numbered from 1 in each experiment. Their parent is what EventParents says.
	Events store.Collection[Event]
	// Metadata is what programs keep of themselves, by trial.
	Metadata store.Collection[map[string]any]
	// Sources are the trials that started from a checkpoint, which is their parent.
	Sources store.Collection[struct{}]
	// Users are the trials that say they use a checkpoint, which is their parent; see UserKey.
	Users store.Collection[int32]
	// Parts are the files of a model definition, packed and cut; their parent is the experiment.
	Parts store.Collection[[]byte]
	// External are the numbers of experiments by what they are called elsewhere.
	External store.Collection[int32]
	// Counters have the last number that was given to an experiment or a trial.
	Counters store.Collection[int32]
}

// Docs is where the documents are.
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

// Key is an experiment's or a trial's number as an id or a parent in the store: ids of one width are
// ordered as their numbers.
func Key(id int32) string { return fmt.Sprintf("%010d", id) }

// ReadKey is the number that Key made a key of.
func ReadKey(key string) (int32, error) {
	n, err := strconv.ParseInt(key, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("read the key %q of an experiment or a trial: %w", key, err)
	}
	return int32(n), nil
}

// EventParents are the parents of an experiment's events: of those that the search is rebuilt from, and
// of all others.
func EventParents(experiment int32) (search, others string) {
	return Key(experiment) + "/search", Key(experiment)
}

// EventKey is the id of an event.
func EventKey(experiment int32, number int) string {
	return fmt.Sprintf("%010d-%010d", experiment, number)
}

// UserKey is the id of a trial that uses a checkpoint.
func UserKey(checkpoint string, trial int32) string { return checkpoint + "/" + Key(trial) }
