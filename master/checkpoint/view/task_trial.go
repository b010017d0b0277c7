package view

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
)

// taskTrial is the trial of a task.
type taskTrial struct{ id, experiment int32 }

// taskTrials caches the trials of tasks, which never change.
type taskTrials struct {
	store *store.Store

	mu    sync.Mutex
	known map[string]taskTrial
}

func newTaskTrials(s *store.Store) *taskTrials {
	return &taskTrials{store: s, known: map[string]taskTrial{}}
}

// mostKnown limits the size of the cache.
const mostKnown = 10_000

// trialOf returns the trial of a task, and false for other tasks. The ID of a trial's task starts
// with the ID of its experiment.
func (t *taskTrials) trialOf(ctx context.Context, task string) (taskTrial, bool, error) {
	t.mu.Lock()
	trial, found := t.known[task]
	t.mu.Unlock()
	if found {
		return trial, true, nil
	}
	number, _, cut := strings.Cut(task, ".")
	id, err := strconv.ParseInt(number, 10, 32)
	if !cut || err != nil {
		return taskTrial{}, false, nil //nolint:nilerr // the ID of another kind of task
	}
	docs, err := record.Docs().Trials.ByParent(ctx, t.store, record.Key(int32(id)))
	if err != nil {
		return taskTrial{}, false, err
	}
	for _, d := range docs {
		if slices.Contains(d.Value.Tasks, task) {
			return t.remember(task, taskTrial{d.Value.ID, d.Value.Experiment}), true, nil
		}
	}
	return taskTrial{}, false, nil
}

func (t *taskTrials) remember(task string, trial taskTrial) taskTrial {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known) >= mostKnown {
		clear(t.known)
	}
	t.known[task] = trial
	return trial
}
