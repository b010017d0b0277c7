package directory_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/det-deploy/det-deploy/cmd/internal/directory"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func TestUnpack(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0)
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	for _, h := range []*tar.Header{
		{Name: "sub", Typeflag: tar.TypeDir, Mode: 0o755, ModTime: at},
		{Name: "sub/run.sh", Typeflag: tar.TypeReg, Mode: 0o700, ModTime: at, Size: 2},
	} {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, "hi"[:h.Size]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := directory.Unpack(b.Bytes())
	want := []*apiv1.File{
		{Path: "sub", Type: '5', Mode: 0o755, Mtime: at.Unix(), Content: []byte{}},
		{Path: "sub/run.sh", Type: '0', Mode: 0o700, Mtime: at.Unix(), Content: []byte("hi")},
	}
	if d := cmp.Diff(got, want, protocmp.Transform()); d != "" || err != nil {
		t.Errorf("got error %v and -got +want:\n%s", err, d)
	}
	if got, err := directory.Unpack(nil); got != nil || err != nil {
		t.Errorf("no archive: got %v and %v, want no files", got, err)
	}
	if _, err := directory.Unpack(b.Bytes()[:b.Len()-20]); err == nil {
		t.Error("a truncated archive: got no error")
	}
}
