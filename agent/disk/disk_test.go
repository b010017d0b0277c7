package disk

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

func TestAnOrderIsKeptOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	first := &agentv1.Start{ContainerId: "c", TaskId: "one"}
	e, added, err := d.Add(first)
	if err != nil || !added {
		t.Fatalf("got %v, %v, want it added", added, err)
	}
	if _, added, err := d.Add(&agentv1.Start{ContainerId: "c", TaskId: "two"}); err != nil || added {
		t.Errorf("again: got %v, %v, want nothing added", added, err)
	}
	if got, err := e.Start(); err != nil || got.GetTaskId() != "one" {
		t.Errorf("got %v, %v, want the first order", got, err)
	}
	if s, err := e.State(); err != nil || s.State != lifecycle.Assigned {
		t.Errorf("got %v, %v, want ASSIGNED", s, err)
	}
	want := State{State: lifecycle.Terminated, AtMicros: 5, Exit: &lifecycle.Exit{Kind: lifecycle.Exited, Code: 3}}
	if err := e.SetState(want); err != nil {
		t.Fatal(err)
	}
	got, err := e.State()
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if err := e.Remove(); err != nil {
		t.Fatal(err)
	}
	if all, err := d.Entries(); err != nil || len(all) != 0 {
		t.Errorf("got %v, %v after removal", all, err)
	}
}

func TestADirectoryWithoutAnOrderGoes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(dir, "containers", "half")
	if err := os.Mkdir(half, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(half, "start.tmp"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if all, err := d.Entries(); err != nil || len(all) != 0 {
		t.Errorf("got %v, %v, want none", all, err)
	}
	if _, err := os.Stat(half); !os.IsNotExist(err) {
		t.Errorf("got %v, want it removed", err)
	}
	for _, id := range []string{"", "..", "a/b"} {
		if _, _, err := d.Add(&agentv1.Start{ContainerId: id}); err == nil {
			t.Errorf("container id %q is accepted", id)
		}
	}
}
