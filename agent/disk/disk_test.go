package disk

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

var (
	running = State{State: lifecycle.Running, AtMicros: 1}
	ended   = State{State: lifecycle.Terminated, AtMicros: 2, Exit: &lifecycle.Exit{Kind: lifecycle.Exited, Code: 3}}
)

func openDisk(t testing.TB, dir string) *Disk {
	t.Helper()
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func add(t testing.TB, d *Disk, order *agentv1.Start, states ...State) Entry {
	t.Helper()
	order.TaskId = order.GetContainerId()
	e, added, err := d.Add(order)
	if err != nil || !added {
		t.Fatalf("got %v, %v, want it added", added, err)
	}
	for _, s := range states {
		if err := e.SetState(s); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

// story creates a removed container, a running one, an exited one and one that was only ordered.
func story(t testing.TB, dir string) *Disk {
	t.Helper()
	d := openDisk(t, dir)
	order := func(id string) *agentv1.Start {
		return &agentv1.Start{ContainerId: id, Rerun: id == "runs", Spec: &agentv1.Spec{SessionToken: "secret"}}
	}
	add(t, d, order("runs"), running)
	add(t, d, order("ended"), running, ended)
	add(t, d, order("ordered"))
	if err := add(t, d, order("removed"), running, ended).Remove(); err != nil {
		t.Fatal(err)
	}
	return d
}

func whole() map[string]lifecycle.State {
	return map[string]lifecycle.State{"runs": lifecycle.Running, "ended": lifecycle.Terminated, "ordered": lifecycle.Assigned}
}

// states returns the state of each container, by ID.
func states(t testing.TB, d *Disk) map[string]lifecycle.State {
	t.Helper()
	out := map[string]lifecycle.State{}
	for _, e := range d.Entries() {
		if e.Start().GetContainerId() != e.ID() || e.Start().GetTaskId() != e.ID() {
			t.Errorf("%s: got the order %v", e.ID(), e.Start())
		}
		out[e.ID()] = e.State().State
	}
	return out
}

func wantStates(t testing.TB, d *Disk, want map[string]lifecycle.State) {
	t.Helper()
	if diff := cmp.Diff(want, states(t, d)); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}
}

func write(t testing.TB, name string, data []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, data, 0o600)); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestNextAgentReadsSavedState(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := story(t, dir)
	wantStates(t, d, whole())
	if _, added, err := d.Add(&agentv1.Start{ContainerId: "ordered", TaskId: "another"}); err != nil || added {
		t.Errorf("a second order: got %v, %v, want nothing added", added, err)
	}
	again := openDisk(t, dir)
	wantStates(t, again, whole())
	if again.Damage() != nil {
		t.Errorf("got %v", again.Damage())
	}
	if diff := cmp.Diff(ended, again.items["ended"].state); diff != "" {
		t.Errorf("the end (-want +got):\n%s", diff)
	}
	if n, err := Count(dir); n != 3 || err != nil {
		t.Errorf("got %d, %v; want 3: the master does not know that one has ended", n, err)
	}
	if n, err := Count(t.TempDir()); n != 0 || err != nil {
		t.Errorf("got %d, %v where no agent ever ran", n, err)
	}
}

func TestARemovedEntryIsNotWrittenAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := openDisk(t, dir)
	e := add(t, d, &agentv1.Start{ContainerId: "c"}, running)
	write(t, e.logFile(), []byte("lines"))
	write(t, e.silentFile(), nil)
	if !(Entry{openDisk(t, dir), e.item}).Silenced() {
		t.Error("the note of a keeper was lost")
	}
	if err := e.Remove(); err != nil {
		t.Fatal(err)
	}
	if err := e.SetState(ended); !errors.Is(err, errRemoved) {
		t.Errorf("got %v, want it refused", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*", "*")); len(left) > 0 || err != nil {
		t.Errorf("got %q, %v, want no file left", left, err)
	}
}

func TestOnlyAnOrderThatWaitsHasItsSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "logs", "x.log"), nil)
	if err := os.Chmod(filepath.Join(dir, "logs"), 0o755); err != nil { // open permissions from an earlier creator
		t.Fatal(err)
	}
	secret := func(id string) *agentv1.Start {
		return &agentv1.Start{ContainerId: id, AllocationId: "a.1", DeviceIds: []int32{1}, Rank: 2, Rerun: true, Spec: &agentv1.Spec{
			SessionToken: "secret", Environment: []string{"DET_USER_TOKEN=secret"}, StartupHook: "secret", Entrypoint: []string{"secret"},
			RegistryAuth: &agentv1.RegistryAuth{Password: "secret"}, Description: "mine",
		}}
	}
	d := openDisk(t, dir)
	asked := State{State: lifecycle.Assigned, Terminate: true}
	add(t, d, secret("ordered"), asked)
	add(t, d, secret("runs"), running)
	add(t, d, secret("never ran"), ended)
	if got := openDisk(t, dir).items["ordered"]; got.order.GetSpec().GetSessionToken() != "secret" || got.state != asked {
		t.Errorf("got %v, want all that a start needs", got.order)
	}
	for _, id := range []string{"runs", "never ran"} {
		name := Entry{d, d.items[id]}.recordFile()
		it, err := decodeRecord(id, read(t, name))
		if err != nil {
			t.Fatal(err)
		}
		o := it.order
		if strings.Contains(o.String(), "secret") || !o.GetRerun() || o.GetAllocationId() != "a.1" || o.GetRank() != 2 || o.GetSpec().GetDescription() != "mine" {
			t.Errorf("got %v on disk, want its identity alone", o)
		}
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", name, info.Mode(), err)
		}
	}
	for _, name := range []string{d.dir, d.logs} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s has mode %v, %v", name, info.Mode(), err)
		}
	}
}

func TestAnIDIsAPlainName(t *testing.T) {
	t.Parallel()
	d := openDisk(t, t.TempDir())
	for _, id := range []string{"", "..", "a/b", strings.Repeat("a", maxID+1)} {
		if _, _, err := d.Add(&agentv1.Start{ContainerId: id}); err == nil {
			t.Errorf("container id %q is accepted", id)
		}
	}
	add(t, d, &agentv1.Start{ContainerId: strings.Repeat("a", maxID)}, running, ended)
}

// An agent may be killed after any byte of any file that it writes, and between any two steps.
func TestAKillAtEveryStepLeavesTheStateBeforeOrAfter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := openDisk(t, dir)
	e := add(t, d, &agentv1.Start{ContainerId: "c"}, running)
	before := read(t, e.recordFile())
	after, err := encodeRecord(e.Start(), ended)
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(after) + 1 {
		room := make([]byte, len(after)+endRoom)
		copy(room, after[:n])
		for name, left := range map[string]map[string][]byte{
			"a state":       {".c.json.123": after[:n], "c.end": make([]byte, n)},
			"the end":       {"c.end": room},
			"a new order":   {".d.json.123": after[:n], "d.end": make([]byte, n)},
			"a second end":  {"c.end": after[:n]},
			"power, a file": {"d.json": make([]byte, n%3)},
		} {
			write(t, e.recordFile(), before)
			for file, data := range left {
				write(t, filepath.Join(d.dir, file), data)
			}
			again := openDisk(t, dir)
			wantStates(t, again, map[string]lifecycle.State{"c": lifecycle.Running})
			if again.Damage() != nil {
				t.Fatalf("%s, %d bytes: got %v", name, n, again.Damage())
			}
			if err := (Entry{again, again.items["c"]}).SetState(ended); err != nil {
				t.Fatal(err)
			}
			wantStates(t, openDisk(t, dir), map[string]lifecycle.State{"c": lifecycle.Terminated})
			if files, err := os.ReadDir(d.dir); err != nil || len(files) != 1 {
				t.Fatalf("%s, %d bytes: got %v, %v, want the record alone", name, n, files, err)
			}
		}
	}
	// An interrupted removal leaves no container.
	write(t, e.endFile(), nil)
	write(t, e.logFile(), nil)
	if err := os.Remove(e.recordFile()); err != nil {
		t.Fatal(err)
	}
	wantStates(t, openDisk(t, dir), map[string]lifecycle.State{})
	if left, err := filepath.Glob(filepath.Join(dir, "*", "*")); len(left) > 0 || err != nil {
		t.Errorf("got %q, %v, want no file left", left, err)
	}
}

func TestAnEndIsSavedOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=8m,mode=0711"); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	d := openDisk(t, dir)
	runs := add(t, d, &agentv1.Start{ContainerId: "runs"}, running)
	ordered := add(t, d, &agentv1.Start{ContainerId: "ordered"})
	if err := os.WriteFile(filepath.Join(dir, "ballast"), bytes.Repeat([]byte("x"), 9<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("fill the disk: got %v", err)
	}
	if _, _, err := d.Add(&agentv1.Start{ContainerId: "more"}); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("got %v, want the order refused", err)
	}
	if err := ordered.SetState(running); !errors.Is(err, unix.ENOSPC) || ordered.State().State != lifecycle.Assigned {
		t.Errorf("got %v, want an error of a state that is not on disk", err)
	}
	last := ended
	last.Exit = &lifecycle.Exit{Kind: lifecycle.NotStarted, Message: strings.Repeat("m", endRoom/2)}
	if err := errors.Join(runs.SetState(ended), ordered.SetState(last)); err != nil {
		t.Errorf("got %v, want both ends saved", err)
	}
	again := openDisk(t, dir)
	wantStates(t, again, map[string]lifecycle.State{"runs": lifecycle.Terminated, "ordered": lifecycle.Terminated})
	if diff := cmp.Diff(last, again.items["ordered"].state); diff != "" {
		t.Errorf("the end (-want +got):\n%s", diff)
	}
	if err := (Entry{again, again.items["runs"]}).Remove(); err != nil {
		t.Error(err)
	}
}
