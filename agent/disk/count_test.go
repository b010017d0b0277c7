package disk

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

func TestContainersAreCounted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if n, err := Count(dir); n != 0 || err != nil {
		t.Errorf("got %d, %v where no agent ever ran", n, err)
	}
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []Entry
	for _, id := range []string{"one", "two"} {
		e, _, err := d.Add(&agentv1.Start{ContainerId: id})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	if err := errors.Join(
		os.MkdirAll(filepath.Join(dir, "containers", "removed"), 0o700),
		all[0].SetState(State{State: lifecycle.Terminated, Exit: &lifecycle.Exit{}}),
	); err != nil {
		t.Fatal(err)
	}
	if n, err := Count(dir); n != 2 || err != nil {
		t.Errorf("got %d, %v; want 2: the master does not know that one has ended", n, err)
	}
	if err := all[0].Remove(); err != nil {
		t.Fatal(err)
	}
	if n, err := Count(dir); n != 1 || err != nil {
		t.Errorf("got %d, %v; want 1", n, err)
	}
	former := filepath.Join(dir, "containers", "former")
	if err := errors.Join(os.Mkdir(former, 0o700), os.WriteFile(filepath.Join(former, "start"), []byte{0}, 0o600)); err != nil {
		t.Fatal(err)
	}
	if n, err := Count(dir); n != 2 || err != nil {
		t.Errorf("got %d, %v; want 2: an agent of an earlier version has one", n, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Count(filepath.Join(dir, "file")); err == nil {
		t.Error("got no error of a data_dir that is a file")
	}
}
