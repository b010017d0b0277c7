package experiment

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/bundle"
	"github.com/det-deploy/det-deploy/master/store"
)

// sendContext sends a directory with one file.
func (w *world) sendContext(c *bundle.Contexts, by *apiv1.User, name, content string) (id string) {
	w.Helper()
	hash := sha256.Sum256([]byte(content))
	a, err := c.Announce(w.Context(), by, []*apiv1.ContextFile{{Path: name, Type: '0', Size: int64(len(content)), Pieces: [][]byte{hash[:]}}})
	if err != nil {
		w.Fatal(err)
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	out := tar.NewWriter(zip)
	err = out.WriteHeader(&tar.Header{Name: hex.EncodeToString(hash[:]), Size: int64(len(content)), Typeflag: tar.TypeReg})
	_, wrong := out.Write([]byte(content))
	if err := errors.Join(err, wrong, out.Close(), zip.Close()); err != nil {
		w.Fatal(err)
	}
	if _, err := c.AddPieces(w.Context(), by, a.GetContextId(), &packed); err != nil {
		w.Fatal(err)
	}
	return a.GetContextId()
}

func TestContextsStayUntilTheirExperimentsAreDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.sendContext(bundle.New(bundle.Config{Store: w.store}), ann(), "train.py", "print(1)")
	w.createOrder(Order{By: ann(), Config: single, Context: id})
	fork := w.createOrder(Order{By: root(), Config: single, Parent: 1})
	w.restart()
	contexts := bundle.New(bundle.Config{Store: w.store})
	pieces := func() (n int) {
		t.Helper()
		_, err := contexts.Collect(t.Context(), time.Now().Add(48*time.Hour))
		if err == nil {
			n, _, err = store.CountBlobs(t.Context(), w.store)
		}
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if a, b := w.definition(1), w.definition(fork.ID); len(a) == 0 || !bytes.Equal(a, b) {
		t.Errorf("got %d and %d bytes, want the same files", len(a), len(b))
	}
	if n := pieces(); n != 2 {
		t.Errorf("got %d pieces, want one of each user", n)
	}
	w.mustAct(1, "kill")
	w.settle(1)
	w.mustAct(1, "delete")
	w.deleteFiles()
	if n := pieces(); n != 1 || len(w.definition(fork.ID)) == 0 {
		t.Errorf("got %d pieces after the first experiment was deleted, want that of the fork", n)
	}
	if _, err := w.x.Create(t.Context(), Order{By: ann(), Config: single, Context: id}); status.Of(err) != status.NotFound {
		t.Errorf("got %v, want that the context is gone", err)
	}
}
