package directory

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// fakeMaster keeps pieces by their hashes.
type fakeMaster struct {
	pieces map[string]bool
	// sent is the number of bytes received, and requests the number of requests with pieces.
	sent, requests int
	// failAt is the request that fails; 0 for none.
	failAt int
	// change is called between the list and the pieces.
	change func()
}

var errGone = errors.New("the master is gone")

func (m *fakeMaster) AnnounceContext(_ context.Context, files []*apiv1.ContextFile) (*apiv1.PostContextResponse, error) {
	out := &apiv1.PostContextResponse{ContextId: "c1"}
	for _, f := range files {
		for _, h := range f.GetPieces() {
			if !m.pieces[string(h)] {
				out.Missing = append(out.Missing, h)
			}
		}
	}
	if m.change != nil {
		m.change()
	}
	return out, nil
}

func (m *fakeMaster) SendPieces(_ context.Context, _ string, packed []byte) error {
	if m.requests++; m.requests == m.failAt {
		return errGone
	}
	m.sent += len(packed)
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	for in := tar.NewReader(zip); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		b, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(b)
		if h.Name != hex.EncodeToString(sum[:]) {
			return fmt.Errorf("%s has the content of %x", h.Name, sum)
		}
		m.pieces[string(sum[:])] = true
	}
}

func limits() *apiv1.GetContextLimitsResponse {
	return &apiv1.GetContextLimitsResponse{Bytes: 64 << 20, Files: 1000, PieceBytes: 1 << 20}
}

func send(t *testing.T, dir string, m *fakeMaster) (done, total int64, err error) {
	t.Helper()
	d, err := Scan(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Send(t.Context(), m, limits(), Tell{Read: func(int64, int64) {}, Sent: func(a, b int64) { done, total = a, b }})
	return done, total, err
}

// noisy writes files that cannot be compressed, 20 MiB in total.
func noisy(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	noise := rand.NewChaCha8([32]byte{1})
	for i := range 100 {
		b := make([]byte, 100<<10)
		_, _ = noise.Read(b) // never fails
		writeFile(t, filepath.Join(dir, fmt.Sprint("small", i)), b)
	}
	big := make([]byte, 10<<20)
	_, _ = noise.Read(big) // never fails
	writeFile(t, filepath.Join(dir, "big"), big)
	writeFile(t, filepath.Join(dir, "copy of big"), big)
	writeFile(t, filepath.Join(dir, "empty"), nil)
	return dir
}

func writeFile(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOnlyMissingPiecesAreSent(t *testing.T) {
	t.Parallel()
	dir, m := noisy(t), &fakeMaster{pieces: map[string]bool{}}
	const size = 100*100<<10 + 10<<20
	if done, total, err := send(t, dir, m); err != nil || done != size || total != size || m.sent < size || m.sent > size+size/10 {
		t.Errorf("first: got %d bytes, %d of %d, and %v, want one copy of each content, %d bytes", m.sent, done, total, err, size)
	}
	m.sent, m.requests = 0, 0
	if _, _, err := send(t, dir, m); err != nil || m.requests != 0 {
		t.Errorf("again: got %d requests with pieces and %v, want none", m.requests, err)
	}
	writeFile(t, filepath.Join(dir, "small7"), []byte("changed"))
	if _, _, err := send(t, dir, m); err != nil || m.sent > 1000 {
		t.Errorf("after a change: got %d bytes and %v, want only those of the changed file", m.sent, err)
	}
}

func TestInterruptedSendingContinues(t *testing.T) {
	t.Parallel()
	dir, m := noisy(t), &fakeMaster{pieces: map[string]bool{}, failAt: 4}
	if _, _, err := send(t, dir, m); !errors.Is(err, errGone) {
		t.Fatalf("got %v, want that the master is gone", err)
	}
	first := m.sent
	if _, total, err := send(t, dir, m); err != nil || first < 3*packBytes || total > 21<<20-3*packBytes {
		t.Errorf("got %d bytes first, %d bytes then, and %v; want only the rest", first, total, err)
	}
}

func TestFilesThatChangeWhileTheyAreSent(t *testing.T) {
	t.Parallel()
	dir := makeTree(t, "train.py")
	m := &fakeMaster{pieces: map[string]bool{}, change: func() { writeFile(t, filepath.Join(dir, "train.py"), []byte("new")) }}
	if _, _, err := send(t, dir, m); err == nil || !strings.Contains(err.Error(), "files have changed") {
		t.Errorf("got %v, want that the files have changed", err)
	}
}

func TestLimitsOfTheMasterAreKept(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]*Directory{
		"has 1001 files; the master accepts 1000":  {Files: make([]*apiv1.File, 1001)},
		"has 65 MB; the master accepts 64 MB (sec": {Bytes: 65 << 20},
	} {
		if err := d.checkLimits(limits()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
