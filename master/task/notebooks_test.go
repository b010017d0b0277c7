package task_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

func TestNotebooks(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	config := command(t, `{"idle_timeout":"30m","bind_mounts":[{"host_path":"/srv/data","container_path":"/data"}]}`)
	made, err := m.tasks.LaunchKind(t.Context(), lifecycle.Notebook, root(), config, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := made.GetCommand().GetId()
	specs := m.assign(first(id), 1)
	if list := m.tasks.Notebooks(); len(list) != 0 {
		t.Errorf("got %v, want no notebook that does not run yet", list)
	}
	m.changed(first(id), 0, running, nil)
	m.restart()
	list := m.tasks.Notebooks()
	if len(list) != 1 || list[0].Container != containerID(first(id), 0) || list[0].Path != "/proxy/"+id+"/" || list[0].Ready ||
		list[0].IdleTimeout != 30*time.Minute || list[0].IdleType != "kernels_or_terminals" || list[0].Port != 2900 {
		t.Fatalf("got %+v, want the notebook", list)
	}
	key := list[0].Key
	hash := sha256.Sum256([]byte(key))
	hashed := false
	for _, f := range specs[0].GetFiles() {
		if strings.Contains(string(f.GetContent()), key) {
			t.Errorf("%s: has the key of the notebook", f.GetPath())
		}
		hashed = hashed || strings.Contains(string(f.GetContent()), hex.EncodeToString(hash[:]))
	}
	if got := strings.Join(append(specs[0].GetEnvironment(), specs[0].GetEntrypoint()...), " "); !hashed || strings.Contains(got, key) {
		t.Errorf("got files with the hash of the key %t and %q, want only the hash in the container", hashed, got)
	}
	if s, err := m.tasks.Service(t.Context(), id, 0); err != nil || s.Key != key || s.Port != 2900 || s.Unauthenticated {
		t.Errorf("got %+v and %v, want the notebook's service", s, err)
	}
	if got, err := m.tasks.Task(t.Context(), id); err != nil || got.GetTask().GetAllocations()[0].GetIsReady() {
		t.Errorf("got %v and %v, want a notebook that is not ready before it answers", got, err)
	}
	if log := strings.Join(m.lines(id), "\n"); !strings.Contains(log, "Only files in /data are kept when this notebook ends") {
		t.Errorf("got the log %q, want what is kept", log)
	}
	m.must(func() error { return m.tasks.EndIdle(t.Context(), first(id), "not used for 30m0s") })
	if list := m.tasks.Notebooks(); len(list) != 0 {
		t.Errorf("got %v, want no notebook that is being ended", list)
	}
	m.must(func() error {
		return m.tasks.Ended(t.Context(), first(id), rm.End{Cause: rm.CauseKilled, Reason: "killed", At: time.Now()})
	})
	got, err := m.tasks.OfKind(t.Context(), lifecycle.Notebook, id)
	if err != nil || got.GetCommand().GetExitStatus() != "not used for 30m0s" {
		t.Errorf("got %v and %v, want why it ended", got, err)
	}
}

func TestNotebookSettings(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	for text, want := range map[string]string{
		`{"notebook_idle_type":"sleepy"}`: "notebook_idle_type: must be kernels_or_terminals, kernel_connections or activity",
		`{"idle_timeout":"1s"}`:           "idle_timeout: must be at least 10s",
	} {
		_, err := m.tasks.PreviewKind(t.Context(), lifecycle.Notebook, ann(), &apiv1.LaunchCommandRequest{Config: command(t, text).GetConfig()})
		if status.Of(err) != status.InvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	got, err := m.tasks.PreviewKind(t.Context(), lifecycle.Notebook, ann(), command(t, `{"idle_timeout":"1h"}`))
	if err != nil || len(got.GetWarnings()) > 0 || got.GetConfig().GetFields()["notebook_idle_type"].GetStringValue() != "kernels_or_terminals" {
		t.Errorf("got %v and %v, want a complete configuration without warnings", got, err)
	}
}
