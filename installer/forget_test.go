package installer_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/installer/record"
)

func TestSettingsOutliveTheCluster(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage()
		must(t, s.up(t.Context()))
		r, _, _, err := record.Read(t.Context(), s.store)
		must(t, err)
		_, err = s.down(t.Context(), false)
		must(t, err)
		kept, err := record.Retained(t.Context(), s.store)
		must(t, err)
		if d := cmp.Diff(kept, r.Settings); d != "" || len(kept) == 0 {
			t.Errorf("got -, want +:\n%s", d)
		}
		if _, _, found, err := record.Read(t.Context(), s.store); found || err != nil {
			t.Errorf("got a record (%t) or %v, want none", found, err)
		}

		must(t, s.up(t.Context()))
		if err := s.operator("ann").DropSettings(t.Context()); err == nil {
			t.Error("the record of a cluster was deleted")
		}
		_, err = s.down(t.Context(), false)
		must(t, err)
		must(t, s.operator("ann").DropSettings(t.Context()))
		if s.store.Exists() {
			t.Error("the store remains")
		}
		_, err = s.down(t.Context(), true)
		must(t, err)
		if s.store.Exists() {
			t.Error("the store remains after the data")
		}
	})
}
