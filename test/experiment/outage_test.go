package experiment_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/clustertest"
	"github.com/det-deploy/det-deploy/test/postgrestest"
	"github.com/det-deploy/det-deploy/test/rest"
)

// outage returns the duration of an outage.
func outage() time.Duration {
	if _, whole := stormTrials(); whole {
		return time.Minute
	}
	return 6 * time.Second
}

// fault is an outage that prevents the master from storing data, with its error message.
type fault struct {
	name        string
	begin, over func()
	message     string
}

// TestTrainingSurvivesDatabaseOutage trains with the library while PostgreSQL is stopped, and
// while it hangs.
func TestTrainingSurvivesDatabaseOutage(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	server := postgrestest.Start(t, postgrestest.Options{})
	l := openLab(t, options{master: "db:\n  url: " + server.URL() + "\n"})
	l.trainThrough([]fault{
		{"stopped", server.Stop, server.Launch, "database"},
		{"hanging", server.Freeze, server.Thaw, ""},
	})
}

// TestTrainingSurvivesFullDiskOfMaster trains with the library while the master's disk is full.
func TestTrainingSurvivesFullDiskOfMaster(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("mounts a small disk; run as root")
	}
	var ballast string
	l := openLab(t, options{prepare: func(c *clustertest.Cluster) {
		dir := filepath.Join(c.Dir, "master")
		clustertest.SmallDisk(t, dir)
		ballast = filepath.Join(dir, "ballast")
	}})
	l.trainThrough([]fault{{
		"full", func() { clustertest.Fill(ballast) }, func() {
			if err := os.Remove(ballast); err != nil {
				t.Error(err)
			}
		}, "the disk of the database is full and nothing was changed; free space on it",
	}})
}

// trainThrough trains during an outage of each kind: no acknowledged report is lost, and the
// program neither fails nor is restarted.
func (l *lab) trainThrough(kinds []fault) {
	l.t.Helper()
	const epochs = 40
	id := l.create("line", "single.yaml", "hyperparameters.seconds_per_epoch=0.3", "hyperparameters.validate_every=1",
		fmt.Sprintf("hyperparameters.epochs=%d", epochs), "checkpoint_storage={save_trial_latest: 1000}")
	for _, k := range kinds {
		trial := l.awaitEpochs(id, min(2+len(l.saved(id)), epochs))
		before := l.validations(trial.ID)
		k.begin()
		began := time.Now()
		if k.message != "" {
			l.awaitOutageError(id, k)
		}
		time.Sleep(time.Until(began.Add(outage()))) //nolint:forbidigo // the program's reports fail meanwhile
		k.over()
		l.Eventually("the master stores again", patience, func() error {
			code, text := l.rename(id, "after "+k.name)
			if code != http.StatusOK {
				return fmt.Errorf("%d %s", code, text)
			}
			return nil
		})
		after := l.validations(trial.ID)
		for _, steps := range before {
			if !slices.Contains(after, steps) {
				l.t.Errorf("%s: the validation at step %d was acknowledged and is lost", k.name, steps)
			}
		}
	}
	e := l.await(id, "COMPLETED")
	if e.Trials[0].Restarts != 0 || strings.Count(l.history(id), " started run ") != 1 {
		l.t.Errorf("got %+v, want one run\n%s\n%s", e.Trials[0], l.history(id), l.logs(e))
	}
	for _, group := range []string{"training", "validation"} {
		if got := l.steps(e.Trials[0].ID, group); len(got) != epochs || got[0] != 1 || got[epochs-1] != epochs {
			l.t.Errorf("group %s: got %v, want each of %d epochs once", group, got, epochs)
		}
	}
	if got := l.saved(id); len(got) != epochs {
		l.t.Errorf("got %d checkpoints, want %d", len(got), epochs)
	}
}

// rename changes an experiment and returns the response.
func (l *lab) rename(id, name string) (code int, text string) {
	l.t.Helper()
	body := strings.NewReader(fmt.Sprintf(`{"name":%q}`, name))
	r, err := http.NewRequestWithContext(l.t.Context(), http.MethodPatch, l.URL+"/api/v1/experiments/"+id, body)
	if err != nil {
		l.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+l.token)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer a.Body.Close() //nolint:errcheck // it was read
	all, err := io.ReadAll(a.Body)
	if err != nil {
		return 0, err.Error()
	}
	return a.StatusCode, string(all)
}

// awaitOutageError waits until the master answers a write with 503 and the reason of the outage.
func (l *lab) awaitOutageError(id string, k fault) {
	l.t.Helper()
	n := 0
	l.Eventually("the master reports that its store is "+k.name, patience, func() error { // small writes still fit
		n++
		code, text := l.rename(id, fmt.Sprint(k.name, n))
		if code != http.StatusServiceUnavailable || !strings.Contains(text, k.message) {
			return fmt.Errorf("got %d %s, want 503 and %q", code, text, k.message)
		}
		return nil
	})
}
