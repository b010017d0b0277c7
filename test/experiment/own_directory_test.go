package experiment_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// spying is a trial that searches for the checkpoints of others and overwrites them before it
// trains.
const spying = `for f in $(find /determined_shared_fs "$1" -name line.json); do
  echo "found a checkpoint of $(grep -o '"epochs": [0-9]*' "$f")"
  rm -f "$f"; echo spied >"$f"
done
for d in $(find /determined_shared_fs "$1" -type d); do echo spied >"$d/spied"; done
exec python3 train.py
`

// spyOn starts a trial from a checkpoint of an ended experiment with several checkpoints: the trial
// can access only its own directory and the checkpoint that it starts from.
func spyOn(l *lab, victim string, admin bool) {
	l.t.Helper()
	all := l.saved(victim)
	source := all[len(all)-1].UUID
	dir := l.t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(example("line"))); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "spy.sh"), []byte(spying), 0o600); err != nil {
		l.t.Fatal(err)
	}
	settings := []string{"entrypoint=sh spy.sh " + l.checkpoints, "searcher.source_checkpoint_uuid=" + source, "hyperparameters.epochs=10"}
	id := l.createIn(dir, "single.yaml", settings...)
	out := l.logs(l.await(id, "COMPLETED"))
	if strings.Count(out, "found a checkpoint") != 1 || !strings.Contains(out, `found a checkpoint of "epochs": 8`) || !strings.Contains(out, "resumed at epoch 8") {
		l.t.Errorf("got %s, want a trial that sees what it starts from and nothing else", out)
	}
	for _, c := range all {
		text, err := os.ReadFile(filepath.Join(l.inStorage(c.UUID), "line.json"))
		if want := fmt.Sprintf(`"epochs": %d`, c.Metadata.Steps); err != nil || !strings.Contains(string(text), want) {
			l.t.Errorf("checkpoint %s: got %q, %v; want it as it was", c.UUID, text, err)
		}
	}
	spied, err := filepath.Glob(filepath.Join(l.checkpoints, "experiment-*", "spied"))
	if err != nil || len(spied) != 1 || !strings.Contains(spied[0], "experiment-"+id+"-") {
		l.t.Errorf("got %v, %v; want its own directory alone written", spied, err)
	}
	if _, err := os.Stat(filepath.Join(l.checkpoints, "spied")); err == nil {
		l.t.Error("the directory of all experiments was written")
	}
	wantOwnNotGiven(l, dir, filepath.Base(filepath.Dir(spied[0])), admin)
}

// wantOwnNotGiven checks that no configuration can select the directory of another experiment.
func wantOwnNotGiven(l *lab, dir, own string, admin bool) {
	l.t.Helper()
	refused := func(text, setting string) {
		l.t.Helper()
		l.det.Refused([]string{"experiment", "create", filepath.Join(dir, "single.yaml"), dir, "--config", setting}, text)
	}
	taken := filepath.Join(l.checkpoints, own)
	refused("must not be in the directory of an experiment", "checkpoint_storage.host_path="+taken)
	if !admin { // who may mount everything
		refused("is in the checkpoint storage, where an experiment may only mount its own directory", "bind_mounts=[{host_path: "+taken+", container_path: /all}]")
	}
	id := l.create("line", "single.yaml", slices.Concat(quick, []string{"checkpoint_storage.storage_path=" + own})...)
	l.await(id, "COMPLETED")
	if uuid := l.saved(id)[0].UUID; !strings.Contains(l.inStorage(uuid), "/experiment-"+id+"-") {
		l.t.Errorf("checkpoint %s is not in the directory of experiment %s: %s", uuid, id, l.inStorage(uuid))
	}
}
