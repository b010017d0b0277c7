package store_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/storetest"
)

// testUndated reads documents without a time and their children.
func testUndated(t *testing.T, fresh func(t *testing.T) store.Config) {
	s, ctx := storetest.Open(t, fresh(t)), t.Context()
	seeds := store.Collection[fruit]{Kind: "seed"}
	trees := map[string]time.Time{"oak": {}, "elm": {}, "bare": {}, "felled": time.Unix(1_700_000_000, 0)}
	writeRows(t, s, func(tx *store.Tx) error {
		for id, at := range trees {
			if err := fruits.Put(tx, id, "", at, fruit{Name: id}); err != nil {
				return err
			}
			for _, n := range []string{"1", "2"} {
				if id == "bare" {
					continue
				}
				if err := seeds.Put(tx, id+n, id, time.Unix(1_700_000_000, 0), fruit{Name: n}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	var names []string
	var kept []*fruit
	err := fruits.EachUndated(ctx, s, func(id string) *fruit {
		names, kept = append(names, id), append(kept, &fruit{})
		return kept[len(kept)-1]
	})
	if err != nil || len(kept) != 3 || !slices.EqualFunc(names, kept, func(id string, f *fruit) bool { return f.Name == id }) {
		t.Errorf("got %v, %v and %v; want the three without a time", names, kept, err)
	}
	for _, parents := range []int{3, 1} { // one query for all, or one query for each parent
		of := map[string][]fruit{}
		if err := seeds.EachOfUndated(ctx, s, fruits.Kind, parents, func(tree string) *fruit {
			if tree == "felled" {
				return nil
			}
			of[tree] = append(of[tree], fruit{})
			return &of[tree][len(of[tree])-1]
		}); err != nil {
			t.Error(err)
		}
		for _, list := range of {
			slices.SortFunc(list, func(a, b fruit) int { return strings.Compare(a.Name, b.Name) })
		}
		want := map[string][]fruit{"oak": {{Name: "1"}, {Name: "2"}}, "elm": {{Name: "1"}, {Name: "2"}}}
		if d := cmp.Diff(of, want); d != "" {
			t.Errorf("with %d parents (-got +want):\n%s", parents, d)
		}
	}
	notes := store.Collection[string](fruits)
	if err := notes.EachUndated(ctx, s, func(string) *string { return new(string) }); err == nil || !strings.Contains(err.Error(), "invalid encoding") {
		t.Errorf("got %v of documents of another form", err)
	}
}
