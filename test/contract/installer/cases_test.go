package installertest

import (
	"fmt"
	"testing"
)

// A sample has each fault in each flow as often as configured, at a different call and in a
// different layout each time, and covers the calls of a flow from the first to the last.
func TestASampleTriesEachFaultInEachFlow(t *testing.T) {
	t.Parallel()
	s := Suite{Faults: make([]Fault, 9), Each: 2}
	calls := []int{40, 200, 57, 300}
	for flow := range flows() {
		seen, times := map[string]bool{}, map[int]int{}
		cases := s.cases(flow, calls)
		for _, c := range cases {
			times[c.fault]++
			seen[fmt.Sprintf("fault %d, layout %d", c.fault, c.layout)] = true
			if c.call < 1 || c.call > calls[c.layout] {
				t.Errorf("got call %d of %d", c.call, calls[c.layout])
			}
		}
		for fault := range s.Faults {
			if times[fault] != 2 {
				t.Errorf("flow %d: got fault %d %d times, want 2", flow, fault, times[fault])
			}
		}
		if len(seen) != 18 {
			t.Errorf("flow %d: got %d pairs of a fault and a layout, want 18", flow, len(seen))
		}
		if first, last := cases[0].call, cases[len(cases)-1]; first != 1 || last.call != calls[last.layout] {
			t.Errorf("flow %d: got calls from %d to %d of %d", flow, first, last.call, calls[last.layout])
		}
	}
}

func TestEveryCallHandlesEachFault(t *testing.T) {
	t.Parallel()
	s := Suite{Faults: make([]Fault, 3), Each: 1, Every: true}
	seen := map[failure]bool{}
	for _, c := range s.cases(1, []int{4, 6}) {
		seen[c] = true
	}
	if len(seen) != 3*(4+6) {
		t.Errorf("got %d failures, want 30", len(seen))
	}
}
