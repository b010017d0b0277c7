package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/storetest"
)

// testBeginnings finds keys by their beginning.
func testBeginnings(t *testing.T, fresh func(t *testing.T) store.Config) {
	s := storetest.Open(t, fresh(t))
	ids := []string{"5d1f-1", "5d1f-2", "5d20-1", "ffff-1"}
	docs := store.Collection[int]{Kind: "things"}
	writeRows(t, s, func(tx *store.Tx) error {
		for i, id := range ids {
			if err := docs.Put(tx, id, []string{"aa-1", "aa-1", "ab-1", ""}[i], time.Time{}, i); err != nil {
				return err
			}
			name := []string{"train", "trainer", "train", "été"}[i]
			if _, err := store.AddTaskRow(tx, store.TaskRow{ID: id, Name: name, Submitted: int64(i + 1)}); err != nil {
				return err
			}
		}
		return nil
	})
	ctx := t.Context()
	for _, tt := range []struct {
		name string
		find func() ([]string, error)
		want []string
	}{
		{"documents", func() ([]string, error) { return docs.IDsBeginning(ctx, s, "5d1f", 9) }, ids[:2]},
		{"a limit", func() ([]string, error) { return docs.IDsBeginning(ctx, s, "5d", 2) }, ids[:2]},
		{"the last document", func() ([]string, error) { return docs.IDsBeginning(ctx, s, "ffff-1", 9) }, ids[3:]},
		{"parents, once", func() ([]string, error) { return docs.ParentsBeginning(ctx, s, "aa", 9) }, []string{"aa-1"}},
		{"tasks", func() ([]string, error) { return store.TaskIDsBeginning(ctx, s, "5d1f-", 9) }, ids[:2]},
		{"names, the exact and latest first", func() ([]string, error) { return store.TaskIDsNamed(ctx, s, "train", 9) }, []string{ids[2], ids[0], ids[1]}},
		{"names, some", func() ([]string, error) { return store.TaskIDsNamed(ctx, s, "train", 1) }, ids[2:3]},
		{"names in UTF-8", func() ([]string, error) { return store.TaskIDsNamed(ctx, s, "ét", 9) }, ids[3:]},
		{"a prefix of no UUID", func() ([]string, error) { return docs.IDsBeginning(ctx, s, "train", 9) }, nil},
		{"none", func() ([]string, error) { return store.TaskIDsBeginning(ctx, s, "6", 9) }, nil},
	} {
		if got, err := tt.find(); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}
