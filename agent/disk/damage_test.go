package disk

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/atomicfile"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// story has a container that was removed, one that runs, one that has ended and one that
// was only ordered.
func story(t *testing.T, dir string) *Disk {
	t.Helper()
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"removed", "runs", "ended", "ordered"} {
		order := &agentv1.Start{ContainerId: id, TaskId: id, Spec: &agentv1.Spec{SessionToken: "secret"}}
		e, _, err := d.Add(order)
		if err != nil {
			t.Fatal(err)
		}
		if id != "ordered" {
			err = e.Trim(order, State{State: lifecycle.Running, AtMicros: 1})
		}
		if id == "ended" {
			err = errors.Join(err, e.SetState(State{State: lifecycle.Terminated, AtMicros: 2, Exit: &lifecycle.Exit{Code: 3}}))
		}
		if id == "removed" {
			err = errors.Join(err, e.Remove())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// states are those of all containers, by id.
func states(t *testing.T, d *Disk) map[string]lifecycle.State {
	t.Helper()
	out := map[string]lifecycle.State{}
	for _, e := range d.Entries() {
		order, err := e.Start()
		if err != nil || order.GetTaskId() != e.ID() {
			t.Errorf("%s: got the order %v, %v", e.ID(), order, err)
		}
		s, err := e.State()
		if err != nil {
			t.Error(err)
		}
		out[e.ID()] = s.State
	}
	return out
}

// An agent may be killed in the middle of any write: what was whole before is known.
func TestEveryBeginningOfTheFileIsRead(t *testing.T) {
	t.Parallel()
	d := story(t, t.TempDir())
	whole, err := os.ReadFile(d.orders.path)
	if err != nil {
		t.Fatal(err)
	}
	rank := map[lifecycle.State]int{lifecycle.Assigned: 1, lifecycle.Running: 2, lifecycle.Terminated: 3}
	before := map[string]int{}
	for n := range len(whole) + 1 {
		dir := t.TempDir()
		// What a machine that failed had not written is zeros.
		if err := os.WriteFile(ordersFile(dir), append(bytes.Clone(whole[:n]), make([]byte, n%3*8)...), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := Open(dir)
		if err != nil {
			t.Fatalf("%d of %d bytes: %v", n, len(whole), err)
		}
		now := map[string]int{}
		for id, s := range states(t, d) {
			if now[id] = rank[s]; now[id] < before[id] {
				t.Errorf("%d of %d bytes: %s is %s, and was further", n, len(whole), id, s)
			}
		}
		for id := range before {
			if now[id] == 0 {
				t.Errorf("%d of %d bytes: %s is gone", n, len(whole), id)
			}
		}
		before = now
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(map[string]int{"runs": 2, "ended": 3, "ordered": 1}, before); diff != "" {
		t.Errorf("in the end (-want +got):\n%s", diff)
	}
}

// What an agent was killed over is written again behind what was whole.
func TestAfterAnUnfinishedWriteTheNextIsWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := story(t, dir)
	if _, err := d.orders.file.WriteAt([]byte("\x50\x00\x00\x00\x01 and no more"), d.orders.size); err != nil {
		t.Fatal(err)
	}
	d.orders.torn = true // as after a write that a full disk refused
	if _, _, err := d.Add(&agentv1.Start{ContainerId: "x", TaskId: "x"}); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]lifecycle.State{"runs": lifecycle.Running, "ended": lifecycle.Terminated, "ordered": lifecycle.Assigned, "x": lifecycle.Assigned}
	if diff := cmp.Diff(want, states(t, again)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDamageIsNamed(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]int64{"a text": recordHead + 3, "a kind": 4, "a checksum": 8} {
		dir := t.TempDir()
		d := story(t, dir)
		flip(t, d.orders.path, d.orders.items["runs"].at+at)
		_, err := Open(dir)
		named, ok := errors.AsType[*atomicfile.DamagedError](err)
		if !ok || named.Path != d.orders.path || !strings.Contains(named.Fix, "remove it") {
			t.Errorf("%s: got %v, want it named", name, err)
		}
		if err := os.Remove(d.orders.path); err != nil {
			t.Fatal(err)
		}
		if d, err := Open(dir); err != nil || len(d.Entries()) != 0 {
			t.Errorf("%s: after what it says to do: got %v", name, err)
		}
	}
}

// The file does not grow with the tasks that were.
func TestTheFileIsWrittenAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := story(t, dir)
	for i := range 3000 {
		e, _, err := d.Add(&agentv1.Start{ContainerId: "c", Spec: &agentv1.Spec{StartupHook: strings.Repeat("x", 8<<10)}})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Remove(); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	info, err := os.Stat(d.orders.path)
	if err != nil || info.Size() > 2*rewriteSize {
		t.Errorf("got %d bytes, %v, want it rewritten meanwhile", info.Size(), err)
	}
	want := map[string]lifecycle.State{"runs": lifecycle.Running, "ended": lifecycle.Terminated, "ordered": lifecycle.Assigned}
	if diff := cmp.Diff(want, states(t, d)); diff != "" {
		t.Errorf("the agent (-want +got):\n%s", diff)
	}
	if again, err := Open(dir); err != nil || cmp.Diff(want, states(t, again)) != "" {
		t.Errorf("the next agent: %v", err)
	}
}

// An agent that can open no more files writes nothing to one that was replaced.
func TestAFileThatCannotBeOpenedAgainIsNotWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := story(t, dir)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d.orders.file = nil // as after a rewrite that had no descriptor left
	hidden := d.orders.path + ".hidden"
	if err := os.Rename(d.orders.path, hidden); err != nil {
		t.Fatal(err)
	}
	order := &agentv1.Start{ContainerId: "x", TaskId: "x"}
	if _, _, err := d.Add(order); err == nil {
		t.Error("an order is confirmed that is on no disk")
	}
	if err := (Entry{d, "runs"}).Remove(); err == nil {
		t.Error("a container is forgotten that is on disk")
	}
	if err := os.Rename(hidden, d.orders.path); err != nil {
		t.Fatal(err)
	}
	if _, added, err := d.Add(order); err != nil || !added {
		t.Errorf("got %v, %v, want it added now", added, err)
	}
	again, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]lifecycle.State{"runs": lifecycle.Running, "ended": lifecycle.Terminated, "ordered": lifecycle.Assigned, "x": lifecycle.Assigned}
	if diff := cmp.Diff(want, states(t, again)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
