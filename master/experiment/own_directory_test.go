package experiment

import (
	"regexp"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/status"
)

const onShared = single + "checkpoint_storage: {type: shared_fs, host_path: /srv, storage_path: in}\n"

// insideOf returns the storage_path of an experiment.
func (w *world) insideOf(id int32) string {
	w.Helper()
	x, _, err := loadConfig(w.Context(), w.store, id)
	if err != nil {
		w.Fatal(err)
	}
	return x.CheckpointStorage.Typed().SharedFS.Inside()
}

func TestCheckpointDirectoryPerExperiment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.createOrder(Order{By: root(), Config: onShared, Activate: true})
	first := w.insideOf(1)
	if !regexp.MustCompile(`^in/experiment-1-[0-9a-f]{8}$`).MatchString(first) {
		t.Errorf("got %s, want a directory of its own below storage_path", first)
	}
	// The client and the web UI copy configurations of other experiments.
	w.createOrder(Order{By: root(), Config: strings.Replace(onShared, "storage_path: in", "storage_path: "+first+"/deeper", 1)})
	if got := w.insideOf(2); !strings.HasPrefix(got, "in/experiment-2-") {
		t.Errorf("got %s for a copy, want a directory of its own beside", got)
	}
	_, err := w.x.Create(t.Context(), Order{By: ann(), Config: strings.Replace(onShared, "host_path: /srv", "host_path: /srv/"+first, 1)})
	wantRefused(t, err, status.InvalidArgument, "checkpoint_storage.host_path: must not be in the directory of an experiment")

	w.finish(1, 0)
	for _, tc := range []struct{ override, want string }{
		{"name: again", first},
		{"checkpoint_storage: {storage_path: " + w.insideOf(2) + "}", first},
		{"checkpoint_storage: {storage_path: out}", strings.Replace(first, "in/", "out/", 1)},
	} {
		if _, err := w.x.Continue(t.Context(), Continuation{By: root(), ID: 1, Override: tc.override}); err != nil {
			t.Fatal(err)
		}
		if got := w.insideOf(1); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.override, got, tc.want)
		}
		w.reconcile()
		w.finish(1, 1)
		w.finish(1, 1)
		w.finish(1, 1)
	}
}
