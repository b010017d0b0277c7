package agent

import "testing"

func TestMemoryIsGivenBackAtRest(t *testing.T) {
	t.Parallel()
	const kb = 1 << 10
	var m memory
	for i, step := range []struct {
		allocated       uint64
		rests, collects bool
	}{
		{15000 * kb, true, true},  // the start
		{15010 * kb, true, false}, // next to nothing since
		{25000 * kb, false, false},
		{26500 * kb, false, false}, // tasks come and go
		{26900 * kb, true, true},   // they went
		{27800 * kb, true, false},
		{28700 * kb, true, false}, // slowly, but not worth it
		{29600 * kb, true, true},
	} {
		rests, collects := m.decideRest(step.allocated)
		if rests != step.rests || collects != step.collects {
			t.Errorf("step %d: rests %t, collects %t, want %t, %t", i, rests, collects, step.rests, step.collects)
		}
	}
}
