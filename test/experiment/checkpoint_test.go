package experiment_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkpoint is a checkpoint in the API.
type checkpoint struct {
	UUID      string            `json:"uuid"`
	State     string            `json:"state"`
	Resources map[string]string `json:"resources"`
	Metadata  struct {
		Steps int `json:"steps_completed"`
	} `json:"metadata"`
	Deletion *struct{ Failure string } `json:"deletion"`
}

// saved returns the checkpoints of an experiment, the earliest first.
func (l *lab) saved(id string) []checkpoint {
	l.t.Helper()
	var out struct{ Checkpoints []checkpoint }
	l.call("experiments/"+id+"/checkpoints?sortByAttr=SORT_BY_BATCH_NUMBER", &out)
	return out.Checkpoints
}

// awaitDeleted waits until n checkpoints of an experiment are deleted and no deletion is running.
func (l *lab) awaitDeleted(id string, n int) []checkpoint {
	l.t.Helper()
	var all []checkpoint
	l.Eventually(fmt.Sprintf("%d checkpoints of experiment %s are deleted", n, id), patience, func() error {
		all = l.saved(id)
		deleted := 0
		for _, c := range all {
			if c.Deletion != nil {
				return fmt.Errorf("%s waits for its deletion: %s", c.UUID, c.Deletion.Failure)
			}
			if c.State == "STATE_DELETED" {
				deleted++
			}
		}
		if deleted != n {
			return fmt.Errorf("got %d deleted: %+v", deleted, all)
		}
		return nil
	})
	return all
}

// inStorage returns the path of a file or directory in the storage, in the directory of the
// experiment that has it.
func (l *lab) inStorage(name string) string {
	l.t.Helper()
	found, err := filepath.Glob(filepath.Join(l.checkpoints, "experiment-*", name))
	if err != nil {
		l.t.Fatal(err)
	}
	return append(found, filepath.Join(l.checkpoints, "no-experiment", name))[0]
}

// exists reports whether the storage has the directory of a checkpoint.
func (l *lab) exists(uuid string) bool {
	_, err := os.Stat(l.inStorage(uuid))
	return err == nil
}

func TestTheLifeOfACheckpoint(t *testing.T) {
	t.Parallel()
	l := openLab(t, options{})
	id := l.create("line", "single.yaml", "checkpoint_storage.save_trial_latest=3", "checkpoint_storage.save_trial_best=0")
	l.await(id, "COMPLETED")

	// The policy has deleted the earliest of four, also in the storage.
	all := l.awaitDeleted(id, 1)
	if len(all) != 4 || all[0].State != "STATE_DELETED" || all[0].Metadata.Steps != 2 {
		t.Fatalf("got %+v, want the earliest of four deleted", all)
	}
	for i, c := range all {
		if l.exists(c.UUID) != (i > 0) {
			t.Errorf("checkpoint %d: its directory exists: %t", i, l.exists(c.UUID))
		}
	}
	oldest, middle, latest := all[1].UUID, all[2].UUID, all[3].UUID
	l.det.Want([]string{"checkpoint", "describe", latest}, latest, "steps_completed")
	l.det.Want([]string{"experiment", "list-checkpoints", id}, latest, "line.json", "DELETED")
	l.det.Want([]string{"experiment", "list-checkpoints", "--best", "1", id}, latest)

	// Both clients can download it from the storage and through the master.
	for name, mode := range map[string]string{"direct": "direct", "master": "master", "auto": "auto"} {
		to := filepath.Join(t.TempDir(), name)
		l.det.OK("", "checkpoint", "download", latest, "-o", to, "--mode", mode)
		wantLine(t, to)
	}
	to := filepath.Join(t.TempDir(), "own")
	l.Run("checkpoint", "download", latest, "--to", to)
	wantLine(t, to)

	// A registered version is not deleted.
	l.det.OK("", "model", "create", "line")
	l.det.OK("", "model", "register-version", "line", middle)
	l.det.Refused([]string{"checkpoint", "delete", "--yes", oldest + "," + middle}, "it is version 1 of model line")
	if !l.exists(oldest) {
		t.Error("a checkpoint beside one that is needed was deleted")
	}

	// First some files of a checkpoint are deleted, then all of it.
	l.det.OK("", "checkpoint", "rm", "--yes", "--glob", "line.json", oldest)
	l.Eventually("line.json is removed", patience, func() error {
		if c := l.saved(id)[1]; c.State != "STATE_PARTIALLY_DELETED" {
			return fmt.Errorf("%+v", c)
		}
		return nil
	})
	if _, err := os.Stat(filepath.Join(l.inStorage(oldest), "line.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("line.json is there: %v", err)
	}
	l.det.OK("", "checkpoint", "delete", "--yes", oldest)
	l.awaitDeleted(id, 2)

	// Another policy is previewed; it keeps the registered checkpoint.
	l.det.OK("yes\n", "experiment", "set", "gc-policy", id, "--save-experiment-best", "0", "--save-trial-best", "0", "--save-trial-latest", "0")
	all = l.awaitDeleted(id, 3)
	if all[2].State != "STATE_COMPLETED" || !l.exists(middle) || l.exists(latest) {
		t.Errorf("got %+v, want the registered one alone", all)
	}
	l.det.Refused([]string{"checkpoint", "delete", "--yes", middle}, "it is version 1 of model line")
}

// wantLine reports an error if a directory lacks the files of a checkpoint.
func wantLine(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "line.json"))
	if err != nil || !strings.Contains(string(text), `"epochs": 8`) {
		t.Errorf("%s: got %q, error %v; want the line after 8 epochs", dir, text, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "metadata.json")); err != nil {
		t.Errorf("%s: %v", dir, err)
	}
}
