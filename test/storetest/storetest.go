// Package storetest opens stores for the tests of packages that store their state. Only tests may
// import it.
package storetest

import (
	"path/filepath"
	"testing"

	"github.com/det-deploy/det-deploy/master/store"
)

// New returns an empty SQLite store in the test's temporary directory, leased, and closed at the
// end of the test.
func New(t testing.TB) *store.Store {
	t.Helper()
	return Open(t, store.Config{Path: filepath.Join(t.TempDir(), "store.db")})
}

// Open opens and leases the store of cfg and closes it at the end of the test. A test may close it
// earlier to simulate a restart of the master.
func Open(t testing.TB, cfg store.Config) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	if _, err := s.Acquire(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	return s
}
