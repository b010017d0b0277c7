package master

import (
	"log/slog"
	"testing"
)

// What the start has left is given back at once; afterwards only a master that has become
// quiet gives back, and only what is worth it.
func TestMemoryIsGivenBackWhenTheMasterIsQuiet(t *testing.T) {
	t.Parallel()
	var w watermarks
	for i, step := range []struct {
		allocated      uint64 // since the step before, in MiB
		held           uint64
		collect, unmap bool
	}{
		{100, 10, true, true},
		{0, 10, false, true},
		{2, 10, false, true},
		{0, 10, false, true},
		{50, 10, false, false}, // busy
		{1, 10, true, true},
		{7, 10, false, true},
		{7, 10, false, true},
		{7, 10, true, true},
		{40, 400, false, true}, // agents that ask whether the master is there
		{40, 400, false, true},
		{60, 400, false, false},
		{70, 400, false, false},
		{10, 400, true, true},
	} {
		collect, unmap := w.judge(w.before+step.allocated<<20, step.held<<20)
		if collect != step.collect || unmap != step.unmap {
			t.Errorf("step %d: got %v and %v, want %v and %v", i, collect, unmap, step.collect, step.unmap)
		}
	}
}

// The first passwords' hashes are given back before there is a loop that does it.
func TestTheHashesOfTheFirstPasswordsAreGivenBackOnce(t *testing.T) {
	t.Parallel()
	m := newMemory(slog.New(slog.DiscardHandler))
	m.giveBackHash() // there was none: it does not wait for one
	m.noteHash()
	m.noteHash()
	m.giveBackHash()
	if n := len(m.hashed); n != 0 {
		t.Errorf("got %d hashes that are still to be given back, want none", n)
	}
}
