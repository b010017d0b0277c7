package directory_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"testing"

	"github.com/det-deploy/det-deploy/cmd/internal/directory"
)

func TestIncompleteFileIsRemoved(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, name := range []string{"whole", "cut"} {
		if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o600, Size: 600}); err != nil {
			t.Fatal(err)
		}
		if name == "whole" {
			_, _ = w.Write(make([]byte, 600)) // to a buffer
		}
	}
	_, _ = z.Write(make([]byte, 100)) // to a buffer
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	got, err := directory.Extract(dir, &b)
	left, _ := os.ReadDir(dir) // it exists
	if err == nil || got.Files != 1 || len(left) != 1 || left[0].Name() != "whole" {
		t.Errorf("got %+v, %v and %v, want an error and only the complete file", got, err, left)
	}
}
