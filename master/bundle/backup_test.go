package bundle_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/bundle"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/storetest"
)

func TestBackupsContainContexts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0, 0)
	want := files{"train.py": "print()", "big": strings.Repeat("x", bundle.PieceBytes+1)}
	id, _ := w.send(user(1), want)
	if err := w.claim("task/1", user(1), id); err != nil {
		t.Fatal(err)
	}
	var backup bytes.Buffer
	if err := w.store.Backup(t.Context(), &backup); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "restored.db")
	if err := store.Restore(t.Context(), &backup, store.Config{Path: path}); err != nil {
		t.Fatal(err)
	}
	restored := *w
	restored.store = storetest.Open(t, store.Config{Path: path})
	restored.Contexts = bundle.New(bundle.Config{Store: restored.store})
	if d := cmp.Diff(restored.unpacked("task/1"), want); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
	if a, err := restored.Announce(t.Context(), user(1), want.list()); err != nil || len(a.GetMissing()) != 0 {
		t.Errorf("got %v and %v, want that nothing has to be sent again", a, err)
	}
}
