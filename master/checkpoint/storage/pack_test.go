package storage_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/checkpoint/storage"
	"github.com/det-deploy/det-deploy/master/config"
)

const uuid = "5b1d9d1c-3f7e-4b7e-8a58-0c6c7f0a7c11"

// saved returns a storage with a checkpoint and a secret beside it, and the checkpoint's resources.
func saved(t *testing.T) (storage.Source, map[string]int64) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("hush"), 0o600); err != nil {
		t.Fatal(err)
	}
	ckpts := filepath.Join(dir, "ckpts")
	if err := os.MkdirAll(filepath.Join(ckpts, uuid, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"weights": "1234", "sub/state": strings.Repeat("x", 100_000), "metadata.json": "{}"} {
		if err := os.WriteFile(filepath.Join(ckpts, uuid, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../../secret", filepath.Join(ckpts, uuid, "link")); err != nil {
		t.Fatal(err)
	}
	src, err := storage.OpenDirectory(ckpts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	return src, map[string]int64{"weights": 4, "sub/": 0, "sub/state": 100_000}
}

func pack(t *testing.T, f storage.Format, src storage.Source, resources map[string]int64) ([]byte, error) {
	t.Helper()
	var out bytes.Buffer
	err := storage.Checkpoint{Source: src, UUID: uuid, Resources: resources}.Pack(t.Context(), f, &out)
	return out.Bytes(), err
}

// unpack returns the sizes of the files in an archive.
func unpack(t *testing.T, f storage.Format, data []byte) map[string]int {
	t.Helper()
	got := map[string]int{}
	if f == storage.Zip {
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range z.File {
			got[file.Name] = int(file.UncompressedSize64)
		}
		return got
	}
	var r io.Reader = bytes.NewReader(data)
	if f == storage.Gzip {
		z, err := gzip.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		r = z
	}
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		got[h.Name] = len(b)
	}
}

func TestPackFormats(t *testing.T) {
	t.Parallel()
	src, resources := saved(t)
	for _, f := range storage.Formats() {
		data, err := pack(t, f, src, resources)
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		want := map[string]int{"weights": 4, "sub/state": 100_000, "metadata.json": 2}
		if d := cmp.Diff(unpack(t, f, data), want); d != "" {
			t.Errorf("%s (-got +want):\n%s", f, d)
		}
	}
}

func TestPackWritesNothingOnError(t *testing.T) {
	t.Parallel()
	src, _ := saved(t)
	data, err := pack(t, storage.Tar, src, map[string]int64{"a": 1})
	if !errors.Is(err, fs.ErrNotExist) || len(data) > 0 {
		t.Errorf("got %d bytes and error %v, want none and one that says what is missing", len(data), err)
	}
}

func TestOpenDirectoryRefusesEscape(t *testing.T) {
	t.Parallel()
	src, _ := saved(t)
	for _, name := range []string{"link", "../../secret"} {
		data, err := pack(t, storage.Tar, src, map[string]int64{name: 4})
		if strings.Contains(string(data), "hush") {
			t.Errorf("%s was read (error %v)", name, err)
		}
	}
	if _, err := pack(t, storage.Tar, src, map[string]int64{"link": 4}); err == nil {
		t.Error("a link that leads out of the storage is followed")
	}
}

func TestDirectoryOf(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]config.CheckpointStorage{
		"/a":     {Directory: &config.DirectoryStorage{ContainerPath: "/a/"}},
		"/h":     {SharedFS: &config.SharedFSStorage{HostPath: "/h"}},
		"/h/in":  {SharedFS: &config.SharedFSStorage{HostPath: "/h", StoragePath: "in"}},
		"/h/abs": {SharedFS: &config.SharedFSStorage{HostPath: "/h", StoragePath: "/h/abs"}},
		"/h/old": {SharedFS: &config.SharedFSStorage{HostPath: "/h", CheckpointPath: "old"}},
		"/h/x":   {SharedFS: &config.SharedFSStorage{HostPath: "/h/", StoragePath: "/h/../h/x/"}},
		"":       {S3: &config.S3Storage{Bucket: "b"}},
	} {
		if got := storage.DirectoryOf(c); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestObjectName(t *testing.T) {
	t.Parallel()
	for want, in := range map[string][2]string{"u/w": {"", "u/w"}, "p/u/w": {"/p/", "u/w"}, "a/b/u": {"a//b", "u"}} {
		if got := storage.ObjectName(in[0], in[1]); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
