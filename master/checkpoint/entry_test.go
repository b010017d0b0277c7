package checkpoint

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/storetest"
)

func TestEntryOmitsContent(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	rec := Record{
		UUID: "a", Experiment: 1, Trial: 3, Task: "1.t", Reported: time.Unix(1_800_000_000, 0).UTC(), State: Completed, Steps: 7, Storage: 2,
		Metadata: map[string]any{"steps_completed": 7.0}, Resources: map[string]int64{"weights": 40, "data/": 0, "data/x": 2},
	}
	if err := s.Write(t.Context(), func(tx *store.Tx) error { return putRecord(tx, rec) }); err != nil {
		t.Fatal(err)
	}
	want := rec
	want.Metadata, want.Resources = nil, nil
	ofTrial, err := ListTrials(t.Context(), s, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	all, err := ListAll(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range [][]Entry{ofTrial, all} {
		if len(got) != 1 || got[0].Bytes() != rec.Bytes() || !cmp.Equal(got[0].Record, want) {
			t.Errorf("got %+v, want %+v with %d bytes", got, want, rec.Bytes())
		}
	}
}
