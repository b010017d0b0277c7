package disk

import (
	"os"
	"path/filepath"
	"strings"
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
	if all := d.Entries(); len(all) != 0 {
		t.Errorf("got %v after removal", all)
	}
}

func TestWhatIsLeftOfAnOrderHasNoSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// Whoever made the directory before may have left it open.
	if err := os.Mkdir(filepath.Join(dir, "logs"), 0o755); err != nil {
		t.Fatal(err)
	}
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	order := &agentv1.Start{ContainerId: "c", AllocationId: "a.1", TaskId: "a", DeviceIds: []int32{1}, Rank: 2, Spec: &agentv1.Spec{
		SessionToken: "secret-session", Environment: []string{"DET_USER_TOKEN=secret-user"}, StartupHook: "secret-hook",
		Entrypoint: []string{"secret-argument"}, RegistryAuth: &agentv1.RegistryAuth{Password: "secret-password"}, Description: "mine",
	}}
	e, _, err := d.Add(order)
	if err != nil {
		t.Fatal(err)
	}
	order.Rerun = true
	running := State{State: lifecycle.Running, AtMicros: 1}
	if err := e.Trim(order, running); err != nil {
		t.Fatal(err)
	}
	if s, err := e.State(); err != nil || s != running {
		t.Errorf("got %v, %v, want the state that came with it", s, err)
	}
	if kept, err := e.Start(); err != nil || !kept.GetRerun() {
		t.Errorf("got %v, %v, want that it is known to be run again elsewhere", kept, err)
	}
	err = filepath.WalkDir(dir, func(path string, f os.DirEntry, err error) error {
		info, ierr := f.Info()
		if err != nil || ierr != nil || f.IsDir() {
			if path != dir && info.Mode().Perm() != 0o700 {
				t.Errorf("%s has mode %v", path, info.Mode())
			}
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), "secret") || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v and %q", path, info.Mode(), data)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	got, err := e.Start()
	if err != nil || got.GetAllocationId() != "a.1" || got.GetTaskId() != "a" || got.GetRank() != 2 || got.GetSpec().GetDescription() != "mine" {
		t.Errorf("got %v, %v, want which container it is", got, err)
	}
}

func TestAnIDIsAPlainName(t *testing.T) {
	t.Parallel()
	d, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"", "..", "a/b", strings.Repeat("a", 241)} {
		if _, _, err := d.Add(&agentv1.Start{ContainerId: id}); err == nil {
			t.Errorf("container id %q is accepted", id)
		}
	}
}
