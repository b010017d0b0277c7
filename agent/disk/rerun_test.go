package disk

import (
	"os"
	"testing"

	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

func TestAnOrderThatCannotBeReadIsNotPassedOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if got, err := Reruns(dir); err != nil || len(got) != 0 {
		t.Errorf("got %v, %v where no agent ever ran", got, err)
	}
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*agentv1.Start{{ContainerId: "again", Rerun: true}, {ContainerId: "only"}, {ContainerId: "ended", Rerun: true}} {
		e, _, err := d.Add(s)
		if err == nil && e.ID() == "ended" {
			err = e.SetState(State{State: lifecycle.Terminated, Exit: &lifecycle.Exit{}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := Reruns(dir)
	if err != nil || len(got) != 1 || got[0].ID() != "again" {
		t.Errorf("got %v, %v, want the one to be run again", got, err)
	}
	if d.orders.items["only"] == nil {
		t.Fatal("the agent does not know its containers any more")
	}
	flip(t, d.orders.path, d.orders.items["only"].at+recordHead)
	if got, err := Reruns(dir); err == nil {
		t.Errorf("got %v, want an error of a damaged file", got)
	}
}

// flip damages one byte of a file.
func flip(t *testing.T, path string, at int64) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[at] ^= 0x40
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
