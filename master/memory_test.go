package master

import "testing"

// What the start has left is given back at once; afterwards only a master that has become
// quiet gives back, and only what is worth it.
func TestMemoryIsGivenBackWhenTheMasterIsQuiet(t *testing.T) {
	t.Parallel()
	var w watermarks
	for i, step := range []struct {
		allocated      uint64 // since the step before, in MiB
		collect, unmap bool
	}{
		{100, true, true},
		{0, false, true},
		{2, false, true},
		{0, false, true},
		{50, false, false}, // busy
		{1, true, true},
		{7, false, true},
		{7, false, true},
		{7, true, true},
	} {
		collect, unmap := w.judge(w.before + step.allocated<<20)
		if collect != step.collect || unmap != step.unmap {
			t.Errorf("step %d: got %v and %v, want %v and %v", i, collect, unmap, step.collect, step.unmap)
		}
	}
}
