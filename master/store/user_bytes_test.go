package store_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/storetest"
)

func userBytes(t *testing.T, s *store.Store) []store.UserBytes {
	t.Helper()
	all, err := store.AllUserBytes(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b store.UserBytes) int { return int(a.UserID - b.UserID) })
	return all
}

func testUserBytes(t *testing.T, fresh func(t *testing.T) store.Config) {
	cfg := fresh(t)
	s := storetest.Open(t, cfg)
	mine := errors.New("mine")
	var fns []func(*store.Tx) error
	want := map[int32]int64{}
	for i := range 60 {
		user, n := int32(1+i%3), int64(i)
		if i%4 == 3 {
			n = -n
		}
		if i%5 != 1 && i%5 != 2 {
			want[user] += n
		}
		fns = append(fns, func(tx *store.Tx) error {
			store.CountBytes(tx, store.UserBytes{UserID: user, Kind: "logs", Bytes: n})
			if i%5 == 1 { // fails without a change
				return mine
			}
			if err := fruits.Put(tx, strconv.Itoa(i), "", time.Time{}, fruit{Size: i}); err != nil {
				return err
			}
			if i%5 == 2 { // fails after a change, so that the writes before it are repeated
				return mine
			}
			return nil
		})
	}
	for i, err := range writeTogether(t, s, fns) {
		if (err != nil) != (i%5 == 1 || i%5 == 2) {
			t.Errorf("write %d: got %v", i, err)
		}
	}
	var sums []store.UserBytes
	for user := range int32(3) {
		sums = append(sums, store.UserBytes{UserID: user + 1, Kind: "logs", Bytes: want[user+1]})
	}
	if d := cmp.Diff(sums, userBytes(t, s)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	closeStore(t, s)
	if d := cmp.Diff(sums, userBytes(t, storetest.Open(t, cfg))); d != "" {
		t.Errorf("opened again: (-want +got)\n%s", d)
	}
}
