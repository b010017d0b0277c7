package store_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/store/database"
	"github.com/det-deploy/det-deploy/test/storetest"
)

func TestEmptyFileIsCorrupt(t *testing.T) {
	t.Parallel()
	for _, readOnly := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "master.db")
		write(t, path, nil)
		_, err := store.Open(t.Context(), store.Config{Path: path, ReadOnly: readOnly})
		if !errors.Is(err, database.ErrCorrupt) || !strings.Contains(err.Error(), path) {
			t.Errorf("read-only %t: got %v, want an error with the path %s", readOnly, err, path)
		}
		if info, err := os.Stat(path); err != nil || info.Size() != 0 {
			t.Errorf("the file was changed: %v, %v", info, err)
		}
	}
}

func TestInterruptedCreationIsCompleted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "master.db")
	write(t, path+".new", nil)
	write(t, path, nil)
	s := storetest.Open(t, store.Config{Path: path})
	put(t, s, store.Doc[fruit]{ID: "a"})
	if _, err := os.Stat(path + ".new"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the marker is still there: %v", err)
	}
	// Also while it is open, so that the file is not empty after a kill at any time.
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		t.Errorf("got %v and %v, want a file with bytes", info, err)
	}
}

func TestOpenReportsDamage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "master.db")
	s := storetest.Open(t, store.Config{Path: path})
	put(t, s, store.Doc[fruit]{ID: "a"})
	closeStore(t, s)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func([]byte) []byte{
		"no header":  func(b []byte) []byte { copy(b, "not a database!!"); return b },
		"first page": func(b []byte) []byte { copy(b[100:], bytes.Repeat([]byte{0xa5}, 3000)); return b },
		"truncated":  func(b []byte) []byte { return b[:len(b)/2] },
	} {
		path := filepath.Join(t.TempDir(), "master.db")
		write(t, path, spoil(bytes.Clone(whole)))
		s, err := store.Open(t.Context(), store.Config{Path: path})
		if err == nil {
			closeStore(t, s)
		}
		damage, ok := errors.AsType[*database.CorruptError](err)
		if !ok || damage.Path != path || damage.Hint() == "" {
			t.Errorf("%s: got %v, want an error with the path %s", name, err, path)
		}
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
