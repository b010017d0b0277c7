package experiment

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/store"
)

func TestModelDefinitionsCountAsStoredUntilTheirExperimentsAreDeleted(t *testing.T) {
	t.Parallel()
	const limit = 60_000 // includes some hundred bytes of logs
	w := newWorld(t)
	w.limit = limit
	w.restart()
	order := Order{By: ann(), Config: single, Files: []*apiv1.File{{Path: "model.py", Type: '0', Content: random(10_000)}}}
	one := w.createOrder(order)
	each := w.quota.Stored(7)[quota.Definitions]
	if each < 10_000 || each > 11_000 {
		t.Fatalf("the files of one experiment: got %d bytes", each)
	}
	fork := order
	fork.Parent, fork.Files = one.ID, nil
	for range limit/each - 1 {
		w.createOrder(fork)
	}
	refused := func(why string, o Order) {
		t.Helper()
		_, err := w.x.Create(t.Context(), o)
		if status.Of(err) != status.ResourceExhausted || !strings.Contains(err.Error(), "(model definitions ") {
			t.Errorf("%s: got %v", why, err)
		}
	}
	refused("with files", order)
	refused("with the files of another", fork)
	w.restart()
	refused("after a restart", order)
	if got := w.quota.Stored(7)[quota.Definitions]; got != limit/each*each {
		t.Errorf("after a restart: got %d bytes, want those of %d experiments", got, limit/each)
	}
	w.mustAct(one.ID, "kill")
	w.settle(one.ID)
	w.mustAct(one.ID, "delete")
	w.deleteFiles()
	if got := w.quota.Stored(7)[quota.Definitions]; got != (limit/each-1)*each {
		t.Errorf("after a deletion: got %d bytes, want those of %d experiments", got, limit/each-1)
	}
	order.Parent = 0
	w.createOrder(order)
}

func TestReportsCountAsStoredUntilTheirExperimentIsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.bring(running)
	_, trials := w.get(id)
	trial := trials[0].ID
	w.report(trial, 1, map[string]any{"loss": 1, "text": strings.Repeat("x", 1000)})
	w.report(trial, 2, map[string]any{"loss": 2})
	counted := func(why string) {
		t.Helper()
		sizes, err := store.MetricBytesByTrial(t.Context(), w.store)
		if got := w.quota.Stored(7)[quota.Metrics]; err != nil || got < 1000 || got != sizes[int64(trial)] {
			t.Errorf("%s: got %d bytes, stored are %v, %v", why, got, sizes, err)
		}
	}
	counted("reported")
	w.limit = 1000
	w.restart()
	counted("after a restart")
	err := w.tryReport(trial, 3, map[string]any{"loss": 3})
	if status.Of(err) != status.ResourceExhausted || !strings.Contains(err.Error(), "user ann stores 1.") {
		t.Errorf("beyond the limit: got %v", err)
	}
	if got := w.stageOf(id); got != running {
		t.Errorf("beyond the limit: the trial is %s, want it running", got)
	}
	counted("beyond the limit")
	w.mustAct(id, "kill")
	w.settle(id)
	w.mustAct(id, "delete")
	w.deleteFiles()
	logs, err := store.LogBytesByTask(t.Context(), w.store)
	if err != nil {
		t.Fatal(err)
	}
	var left int64 // the log of the task that deleted checkpoints
	for _, n := range logs {
		left += n
	}
	if got := w.quota.Stored(7); got[quota.Metrics] != 0 || got[quota.Logs] != left {
		t.Errorf("after the deletion: got %v, want no metrics and logs of %d bytes", got, left)
	}
}

func TestEarlierDataIsCountedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stop()
	w.path, w.uncounted = filepath.Join(t.TempDir(), "earlier.db"), true
	w.start()
	one := w.createOrder(Order{By: ann(), Config: single, Files: []*apiv1.File{{Path: "a", Type: '0', Content: random(1000)}}, Activate: true})
	_, trials := w.get(one.ID)
	w.place(trials[0].ID)
	w.report(trials[0].ID, 1, map[string]any{"loss": 1, "text": strings.Repeat("x", 1000)})
	elsewhere := w.putTrial(w.put("mine").ID, "first")
	w.begin(elsewhere.ID)
	err := w.logs.AppendUnsequenced(t.Context(), log.Batch{Task: w.trial(elsewhere.ID).Task(), Lines: []log.Line{{Text: strings.Repeat("x", 1000)}}})
	if err != nil {
		t.Fatal(err)
	}
	w.uncounted = false
	for range 2 {
		w.restart()
		got := w.quota.Stored(7)
		logs, err := store.LogBytesByTask(t.Context(), w.store)
		if err != nil {
			t.Fatal(err)
		}
		var want int64
		for _, n := range logs {
			want += n
		}
		if got[quota.Logs] != want || want < 1000 {
			t.Errorf("got logs of %d bytes, want %d", got[quota.Logs], want)
		}
		if d, m := got[quota.Definitions], got[quota.Metrics]; d < 1000 || d > 1500 || m < 1000 || m > 1500 {
			t.Errorf("got %v, want the files and the report of about 1,000 bytes each", got)
		}
	}
}

// random returns incompressible bytes.
func random(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(b) //nolint:errcheck // it never fails
	return b
}
