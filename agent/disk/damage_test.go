package disk

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/internal/atomicfile"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
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

// Of what is damaged nothing is known any more; the other containers are as they were.
func TestWhatIsWholeOfADamagedFileIsKept(t *testing.T) {
	t.Parallel()
	all := map[string]lifecycle.State{"runs": lifecycle.Running, "ended": lifecycle.Terminated, "ordered": lifecycle.Assigned}
	none := map[string]lifecycle.State{}
	without := func(id string) map[string]lifecycle.State {
		out := maps.Clone(all)
		delete(out, id)
		return out
	}
	for name, c := range map[string]struct {
		of     string // the record that is damaged is this container's order
		at     int64
		length int
		want   map[string]lifecycle.State
	}{
		"a text":                   {"runs", recordHead + 3, 1, without("runs")},
		"a kind":                   {"runs", 4, 1, without("runs")},
		"a checksum":               {"ended", 8, 1, without("ended")},
		"a length, shorter":        {"runs", 0, 1, none},
		"a length, beyond the end": {"runs", 2, 1, none},
		"the last order":           {"ordered", recordHead + 3, 1, without("ordered")},
		"a block":                  {"ended", -20, 60, map[string]lifecycle.State{"runs": lifecycle.Running}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			d := story(t, dir)
			for i := range c.length {
				flip(t, d.orders.path, d.orders.items[c.of].at+c.at+int64(i))
			}
			d, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			named, ok := errors.AsType[*atomicfile.DamagedError](d.Damage())
			if !ok || named.Path != d.orders.path || !strings.Contains(named.Error(), "the record at byte") {
				t.Errorf("got %v, want it named", d.Damage())
			}
			if diff := cmp.Diff(c.want, states(t, d)); diff != "" {
				t.Errorf("what is known (-want +got):\n%s", diff)
			}
			if _, _, err := d.Add(&agentv1.Start{ContainerId: "next", TaskId: "next"}); err != nil {
				t.Error(err)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			again, err := Open(dir)
			if err != nil || again.Damage() != nil || len(again.Entries()) != len(c.want)+1 {
				t.Errorf("the next agent: %v, %v and %d containers", err, again.Damage(), len(again.Entries()))
			}
		})
	}
}

func TestABlockOfZerosInTheMiddleIsDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := story(t, dir)
	data, err := os.ReadFile(d.orders.path)
	if err != nil {
		t.Fatal(err)
	}
	at := d.orders.items["ended"].at
	clear(data[at : at+40])
	if err := os.WriteFile(d.orders.path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if d, err = Open(dir); err != nil || d.Damage() == nil || len(d.Entries()) != 1 {
		t.Errorf("got %v, %v, want the first container and that others were there", d.Damage(), err)
	}
}

// What a later version wrote is whole: it is not thrown away.
func TestAFileOfALaterVersionIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := story(t, dir)
	if _, _, err := d.orders.append(record{kind: erasedKind + 1, id: "runs", text: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(d.orders.path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(dir)
	named, ok := errors.AsType[*atomicfile.DamagedError](err)
	if !ok || !strings.Contains(named.Fix, "install the version again") {
		t.Errorf("got %v, want what to do", err)
	}
	if after, err := os.ReadFile(d.orders.path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("it was changed: %v", err)
	}
}

// An order contains what users write. A record in it is none of the file's, whatever is damaged.
func TestARecordInAnOrderIsNotRead(t *testing.T) {
	t.Parallel()
	order, err := proto.Marshal(&agentv1.Start{ContainerId: "planted", TaskId: "planted"})
	if err != nil {
		t.Fatal(err)
	}
	planted := appendRecord(nil, record{kind: orderKind, id: "planted", text: order})
	for at := range int64(recordHead + 2) {
		dir := t.TempDir()
		d := story(t, dir)
		files := []*apiv1.File{{Path: "/f", Content: bytes.Repeat(planted, 3)}}
		if _, _, err := d.Add(&agentv1.Start{ContainerId: "mine", TaskId: "mine", Spec: &agentv1.Spec{Files: files}}); err != nil {
			t.Fatal(err)
		}
		flip(t, d.orders.path, d.orders.items["mine"].at+at)
		d, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := states(t, d); got["planted"] != "" || got["mine"] == "" && d.Damage() == nil {
			t.Errorf("byte %d damaged: got %v, %v", at, got, d.Damage())
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
