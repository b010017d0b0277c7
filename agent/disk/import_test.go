package disk

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/internal/atomicfile"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// former makes a container as an agent of an earlier version left it.
func former(t *testing.T, dataDir, id string, files map[string]string) {
	t.Helper()
	dir := filepath.Join(dataDir, "containers", id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestContainersOfAnEarlierVersionAreTakenOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	order := func(id string) string {
		data, err := proto.Marshal(&agentv1.Start{ContainerId: id, TaskId: id, Rerun: id == "runs"})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	former(t, dir, "runs", map[string]string{"start": order("runs"), "state": `{"state": "RUNNING", "at_us": 5}`, "log": "lines", "silent": ""})
	former(t, dir, "ordered", map[string]string{"start": order("ordered")})
	former(t, dir, "unconfirmed", map[string]string{"start.tmp": "x"})
	former(t, dir, "power cut", map[string]string{"start": "", "log": "lines"})
	former(t, dir, "power cut, too", map[string]string{"start": order("x"), "state": ""})
	for range 2 { // the second finds what the first wrote
		d, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		got := states(t, d)
		if len(got) != 2 || got["runs"] != lifecycle.Running || got["ordered"] != lifecycle.Assigned {
			t.Errorf("got %v, want the two that were confirmed", got)
		}
		log, err := os.ReadFile(Entry{d, "runs"}.logFile())
		if string(log) != "lines" || err != nil || !(Entry{d, "runs"}).Silenced() || (Entry{d, "ordered"}).Silenced() {
			t.Errorf("got the log %q, %v, want it and the keeper's note of the one", log, err)
		}
		if left, err := os.ReadDir(filepath.Join(dir, "containers")); err != nil || len(left) != 0 {
			t.Errorf("%v, %v are left", left, err)
		}
		// Cut short before the directory was removed.
		former(t, dir, "runs", map[string]string{"start": order("runs"), "state": `{"state": "RUNNING", "at_us": 5}`})
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDamageThatAnEarlierVersionLeftIsNamed(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"start": {"start": "\xff\xff\xff"},
		"state": {"start": "", "state": `{"state": "RUN`},
	} {
		dir := t.TempDir()
		if files["start"] == "" {
			files["start"] = "\x0a\x01c"
		}
		former(t, dir, "c", files)
		_, err := Open(dir)
		named, ok := errors.AsType[*atomicfile.DamagedError](err)
		if !ok || filepath.Base(named.Path) != name || !strings.Contains(named.Fix, filepath.Join(dir, "containers", "c")) {
			t.Errorf("%s: got %v, want it named", name, err)
		}
	}
}

// An agent that is killed between an order and its state has taken over the order alone.
func TestWhatWasHalfTakenOverIsTakenOverWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	order := &agentv1.Start{ContainerId: "c", TaskId: "c"}
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Add(order); err != nil {
		t.Fatal(err)
	}
	data, err := proto.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	former(t, dir, "c", map[string]string{"start": string(data), "state": `{"state": "RUNNING", "at_us": 5, "kill_at_us": 7}`})
	again, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := (Entry{again, "c"}).State(); s.KillAtMicros != 7 || s.State != lifecycle.Running || err != nil {
		t.Errorf("got %+v, %v, want how far it got", s, err)
	}
}
