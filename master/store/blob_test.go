package store_test

import (
	"bytes"
	"crypto/sha256"
	"testing"

	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/storetest"
)

func hashOf(text string) store.Hash { return sha256.Sum256([]byte(text)) }

func testBlobs(t *testing.T, fresh func(t *testing.T) store.Config) {
	s := storetest.Open(t, fresh(t))
	one, two := store.BlobSet{Owner: 7, Context: hashOf("one")}, store.BlobSet{Owner: 7, Context: hashOf("two")}
	other := store.BlobSet{Owner: 8, Context: hashOf("one")}
	a, b := hashOf("a"), hashOf("b")
	write := func(fn func(tx *store.Tx) error) {
		t.Helper()
		if err := s.Write(t.Context(), fn); err != nil {
			t.Fatal(err)
		}
	}
	add := func(set store.BlobSet, h store.Hash, data string) (added bool) {
		t.Helper()
		write(func(tx *store.Tx) (err error) {
			added, err = store.AddBlob(tx, set, h, []byte(data))
			return err
		})
		return added
	}
	drop := func(set store.BlobSet, h store.Hash) (n int64) {
		t.Helper()
		write(func(tx *store.Tx) (err error) {
			n, err = store.DropBlobRef(tx, set, h)
			return err
		})
		return n
	}
	write(func(tx *store.Tx) error {
		for _, set := range []store.BlobSet{one, two} {
			if err := store.AddBlobRefs(tx, set, []store.Hash{a}); err != nil {
				return err
			}
		}
		return store.AddBlobRefs(tx, one, []store.Hash{a, b})
	})
	if missing, err := store.MissingBlobs(t.Context(), s, one); err != nil || len(missing) != 2 {
		t.Errorf("got %d missing blobs and %v, want 2", len(missing), err)
	}
	if !add(one, a, "\x00A") || add(two, a, "again") || add(two, b, "in no set") || add(other, a, "of another user") {
		t.Error("a blob is stored once, and only if its set includes it")
	}
	data, found, err := store.Blob(t.Context(), s, 7, a)
	if err != nil || !found || !bytes.Equal(data, []byte("\x00A")) {
		t.Errorf("got %q, %t, %v", data, found, err)
	}
	if _, found, err := store.Blob(t.Context(), s, 8, a); err != nil || found {
		t.Errorf("another user's blob: got %t, %v", found, err)
	}
	missing, err := store.MissingBlobs(t.Context(), s, one)
	if err != nil || len(missing) != 1 || missing[0] != b {
		t.Errorf("got %x and %v, want the blob that was not sent", missing, err)
	}
	if first, err := store.FirstBlobRefs(t.Context(), s, one, 1); err != nil || len(first) != 1 {
		t.Errorf("got %d and %v, want one of two", len(first), err)
	}
	if n := drop(one, a); n != 0 {
		t.Errorf("got %d bytes deleted, want the blob to stay for the other set", n)
	}
	if n := drop(two, a); n != 2 {
		t.Errorf("got %d bytes deleted, want 2", n)
	}
	if all, unused, err := store.CountBlobs(t.Context(), s); err != nil || all != 0 || unused != 0 {
		t.Errorf("got %d blobs, %d unused and %v, want none", all, unused, err)
	}
}
