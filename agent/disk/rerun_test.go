package disk

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

func TestAnOrderThatCannotBeReadIsNotPassedOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*agentv1.Start{{ContainerId: "again", Rerun: true}, {ContainerId: "only"}, {ContainerId: "damaged", Rerun: true}} {
		if _, _, err := d.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(
		os.WriteFile(filepath.Join(d.dir, "damaged", "start"), []byte("\xff\xff\xff"), 0o600),
		os.Mkdir(filepath.Join(d.dir, "removed"), 0o700),
		os.WriteFile(filepath.Join(d.dir, "stray"), nil, 0o600),
	); err != nil {
		t.Fatal(err)
	}
	got, err := Reruns(dir)
	if err != nil || len(got) != 1 || got[0].ID() != "again" {
		t.Errorf("got %v, %v, want the one to be run again", got, err)
	}
	if err := os.MkdirAll(filepath.Join(d.dir, "unread", "start"), 0o700); err != nil { // reading it fails, as on a failing disk
		t.Fatal(err)
	}
	if got, err := Reruns(dir); err == nil || len(got) != 1 {
		t.Errorf("got %v, %v, want the one and an error", got, err)
	}
}
