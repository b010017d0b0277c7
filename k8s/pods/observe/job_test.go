package observe

import "testing"

func TestIndexesAsJobsWriteThem(t *testing.T) {
	t.Parallel()
	for list, ranks := range map[string][]int{"": nil, "0": {0}, "3": {3}, "0,2-4,7": {0, 2, 3, 4, 7}, "10-12": {10, 11, 12}, "x,1": {1}} {
		want := map[int]bool{}
		for _, rank := range ranks {
			want[rank] = true
		}
		for rank := range 14 {
			if got := hasIndex(list, rank); got != want[rank] {
				t.Errorf("rank %d of %q: got %t", rank, list, got)
			}
		}
	}
}
