package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// For any files of a client, the packed archive equals them and stays below the directory in which it is
// unpacked, or Pack returns an error that is the client's fault.
func FuzzPack(f *testing.F) {
	f.Add("lib/run.sh", int32('0'), uint32(0o100755), int64(1_700_000_000), []byte("echo"))
	f.Add("a/../../b", int32('5'), uint32(0), int64(-1), []byte(nil))
	f.Add("\x00", int32(-1), uint32(1<<31), int64(1<<62), []byte("x"))
	f.Add(strings.Repeat("ä/", 200)+".", int32(0), uint32(0o7777), int64(1<<40), []byte("x"))
	f.Fuzz(func(t *testing.T, name string, kind int32, mode uint32, mtime int64, content []byte) {
		data, err := pack([]*apiv1.File{{Path: name, Type: kind, Mode: mode, Mtime: mtime, Content: content}, {Path: "last", Type: '0', Content: []byte("z")}})
		if err != nil {
			if _, ours := errors.AsType[*PathError](err); !ours {
				t.Errorf("%q: got %v, want that the path is at fault", name, err)
			}
			return
		}
		zip, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for r := tar.NewReader(zip); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%q: cannot read the archive: %v", name, err)
			}
			if !filepath.IsLocal(h.Name) || h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeDir {
				t.Errorf("%q is packed as %q of type %q", name, h.Name, h.Typeflag)
			}
			body, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			if len(names) == 0 && h.Typeflag == tar.TypeReg && h.Name != "last" && !bytes.Equal(body, content) {
				t.Errorf("%q: got %q, want %q", name, body, content)
			}
			names = append(names, h.Name)
		}
		if len(names) == 0 || names[len(names)-1] != "last" {
			t.Errorf("%q: got %q, want the file after it too", name, names)
		}
	})
}
