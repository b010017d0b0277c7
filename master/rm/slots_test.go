package rm

import "testing"

func TestUnfulfillableCountsSlots(t *testing.T) {
	t.Parallel()
	for slots, want := range map[int]string{
		0: `request unfulfillable: 0 slots in resource pool "gpu": why`,
		1: `request unfulfillable: 1 slot in resource pool "gpu": why`,
		8: `request unfulfillable: 8 slots in resource pool "gpu": why`,
	} {
		if got := (&Unfulfillable{Pool: "gpu", Slots: slots, Reason: "why"}).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
