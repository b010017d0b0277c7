package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func pack(files []*apiv1.File) ([]byte, error) {
	var b bytes.Buffer
	err := Pack(&b, files, Held(files))
	return b.Bytes(), err
}

func TestPackRoundTrip(t *testing.T) {
	t.Parallel()
	data, err := pack([]*apiv1.File{
		{Path: "lib", Type: '5', Mode: 0o755},
		{Path: "lib/run.sh", Type: '0', Mode: 0o100755, Content: []byte("echo hi\n"), Mtime: 1700000000},
		{Path: "./empty", Type: 48, Mode: 0o600},
	})
	if err != nil {
		t.Fatal(err)
	}
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		got[h.Name] = h.FileInfo().Mode().String() + " " + string(body)
	}
	want := map[string]string{"lib/": "drwxr-xr-x ", "lib/run.sh": "-rwxr-xr-x echo hi\n", "empty": "-rw------- "}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got and want differ (-got +want):\n%s", d)
	}
}

func TestPackRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		file *apiv1.File
	}{
		{"a path that climbs out", &apiv1.File{Path: "../../etc/passwd", Type: '0'}},
		{"a path that climbs out in the middle", &apiv1.File{Path: "a/../../b", Type: '0'}},
		{"an absolute path", &apiv1.File{Path: "/etc/passwd", Type: '0'}},
		{"a symbolic link", &apiv1.File{Path: "link", Type: '2'}},
		{"a zero byte", &apiv1.File{Path: "a\x00b", Type: '0'}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := pack([]*apiv1.File{tt.file})
			if _, ok := errors.AsType[*PathError](err); !ok {
				t.Errorf("got %v, want a PathError", err)
			}
		})
	}
}

func TestEmptyContextPacksToNothing(t *testing.T) {
	t.Parallel()
	if data, err := pack(nil); data != nil || err != nil {
		t.Errorf("got %v and %v, want neither archive nor error", data, err)
	}
}

func TestPackReturnsSizeError(t *testing.T) {
	t.Parallel()
	half := make([]byte, MaxBytes/2+1)
	_, err := pack([]*apiv1.File{{Path: "a", Type: '0', Content: half}, {Path: "b", Type: '0', Content: half}})
	if e, ok := errors.AsType[*SizeError](err); !ok || e.Bytes != int64(2*len(half)) {
		t.Errorf("got %v, want a SizeError of %d bytes", err, 2*len(half))
	}
}

// Not parallel: it measures the allocations of the process.
func TestManySmallFilesTakeLittle(t *testing.T) {
	const each = 2000
	files := make([]*apiv1.File, each)
	for i := range files {
		files[i] = &apiv1.File{Path: fmt.Sprint(i), Type: 48}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := Pack(io.Discard, files, func(int) (io.Reader, int64) { return struct{ io.Reader }{strings.NewReader("abcd")}, 4 })
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got, most := after.TotalAlloc-before.TotalAlloc, uint64(each*12<<10); got > most {
		t.Errorf("%d files take %d bytes, want at most %d", each, got, most)
	}
}
