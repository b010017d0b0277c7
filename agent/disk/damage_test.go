package disk

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/internal/atomicfile"
)

func without(id string) map[string]lifecycle.State {
	out := whole()
	delete(out, id)
	return out
}

// Damage to one file does not affect the other containers, nor its own container unless the damage
// is reported.
func TestDamagedFileAffectsOneContainer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := story(t, dir)
	name := Entry{d, d.items["ended"]}.recordFile()
	good, room := read(t, name), read(t, Entry{d, d.items["runs"]}.endFile())
	try := func(what string, bad []byte) {
		write(t, name, bad)
		again := openDisk(t, dir)
		if again.Damage() == nil {
			wantStates(t, again, whole())
			if diff := cmp.Diff(ended, again.items["ended"].state); diff != "" {
				t.Errorf("%s: it is not named (-want +got):\n%s", what, diff)
			}
			return
		}
		wantStates(t, again, without("ended"))
		named, ok := errors.AsType[*atomicfile.DamagedError](again.Damage())
		if !ok || named.Path != name || named.Fix == "" || !bytes.Equal(read(t, name+damagedSuffix), bad) {
			t.Errorf("%s: got %v, want it named and set aside", what, again.Damage())
		}
		third := openDisk(t, dir)
		if third.Damage() != nil {
			t.Errorf("%s: the next agent: %v", what, third.Damage())
		}
		wantStates(t, third, without("ended"))
	}
	for at := range good {
		for _, bit := range []byte{1, 0x20} {
			bad := bytes.Clone(good)
			bad[at] ^= bit
			try("a bit", bad)
		}
		if at > 0 {
			try("cut short", good[:at])
			try("a part of zeros", append(bytes.Clone(good[:at]), make([]byte, len(good)-at)...))
		}
	}
	try("longer", append(bytes.Clone(good), room...))
	try("another container's", read(t, Entry{d, d.items["runs"]}.recordFile()))
}

// A record of a later version is not damaged and is kept.
func TestFileOfLaterVersionIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := story(t, dir)
	name := Entry{d, d.items["runs"]}.recordFile()
	text := `{"version":2,"news":true}`
	later := fmt.Appendf(nil, `{"crc32":%d,"record":%s}`, crc32.ChecksumIEEE([]byte(text)), text)
	write(t, name, later)
	_, err := Open(dir)
	named, ok := errors.AsType[*atomicfile.DamagedError](err)
	if !ok || named.Path != name || !strings.Contains(named.Fix, "install that version,") {
		t.Errorf("got %v, want how to repair it", err)
	}
	if !bytes.Equal(read(t, name), later) {
		t.Error("it was changed")
	}
}

// FuzzDecode decodes arbitrary bytes as a record and as the previous version's orders.
func FuzzDecode(f *testing.F) {
	d := story(f, f.TempDir())
	for _, it := range d.items {
		f.Add(read(f, Entry{d, it}.recordFile()))
	}
	f.Add(read(f, filepath.Join("testdata", "orders")))
	f.Fuzz(func(t *testing.T, data []byte) {
		if it, err := decodeRecord("runs", data); err == nil {
			text, err := encodeRecord(it.order, it.state)
			if again, derr := decodeRecord("runs", text); err != nil || derr != nil || again.state.State != it.state.State {
				t.Errorf("got %v, %v, %v, want the record that was read", again, err, derr)
			}
		}
		items := map[string]*item{}
		for len(data) > 0 {
			n, err := applyOrder(items, data)
			if err != nil {
				break
			}
			data = data[n:]
		}
		for id, it := range items {
			if !isPlainName(id) || it.order == nil {
				t.Errorf("got container %q with order %v", id, it.order)
			}
		}
	})
}

func TestOrdersOfTheLastVersionAreConverted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	orders := read(t, filepath.Join("testdata", "orders"))
	write(t, ordersFile(dir), orders)
	if n, err := Count(dir); n != 3 || err != nil {
		t.Errorf("got %d, %v, want the three counted while the last version runs", n, err)
	}
	for _, at := range []string{"first", "after a kill in the middle of it"} {
		d := openDisk(t, dir)
		wantStates(t, d, whole())
		if got := d.items["ordered"].order; d.Damage() != nil || got.GetSpec().GetSessionToken() != "secret" {
			t.Errorf("%s: got %v, %v, want an order that can be started", at, got, d.Damage())
		}
		if got := d.items["runs"]; got.state.KillAtMicros != 5 || !got.order.GetRerun() {
			t.Errorf("%s: got %v, %v", at, got.state, got.order)
		}
		if got := d.items["ended"].state.Exit; got == nil || got.Code != 3 {
			t.Errorf("%s: got the end %v", at, got)
		}
		if _, err := os.Stat(ordersFile(dir)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: got %v, want the file gone", at, err)
		}
		write(t, ordersFile(dir), orders)
		if err := os.Remove(Entry{d, d.items["ended"]}.recordFile()); err != nil {
			t.Fatal(err)
		}
	}
}

// If orders are truncated or damaged, the records before the damage are kept, and only records that
// were written.
func TestFirstOrdersOfDamagedFileAreConverted(t *testing.T) {
	t.Parallel()
	orders := read(t, filepath.Join("testdata", "orders"))
	rank := map[lifecycle.State]int{lifecycle.Assigned: 1, lifecycle.Running: 2, lifecycle.Terminated: 3}
	before := map[string]int{}
	for n := range len(orders) + 1 {
		dir := t.TempDir()
		write(t, ordersFile(dir), append(bytes.Clone(orders[:n]), make([]byte, n%3*8)...))
		d := openDisk(t, dir)
		now := map[string]int{}
		for id, s := range states(t, d) {
			now[id] = rank[s]
		}
		for id, was := range before {
			if now[id] < was {
				t.Errorf("%d of %d bytes: %s is at %d, and was at %d", n, len(orders), id, now[id], was)
			}
		}
		before = now
		if n == len(orders) {
			continue
		}
		bad := bytes.Clone(orders)
		bad[n] ^= 1
		write(t, ordersFile(dir), bad)
		if got := states(t, openDisk(t, dir)); len(got) > 3 {
			t.Errorf("byte %d damaged: got %v", n, got)
		}
	}
	if diff := cmp.Diff(map[string]int{"runs": 2, "ended": 3, "ordered": 1}, before); diff != "" {
		t.Errorf("in the end (-want +got):\n%s", diff)
	}
}
