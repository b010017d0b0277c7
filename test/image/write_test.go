package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func TestTheSameFilesGiveTheSameImage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "app", "bin"), "program", 0o755)
	put(t, filepath.Join(dir, "app", "data"), "words", 0o644)
	s := Spec{
		Tag: "example/app:1", Architecture: "amd64", Files: []string{filepath.Join(dir, "app") + ":/opt/app"},
		Entrypoint: []string{"/opt/app/bin"}, User: "1000:1000", WorkDir: "/", Ports: []string{"8080/tcp"},
	}
	var images [2][]byte
	for i := range images {
		out := filepath.Join(dir, "image.tar")
		if err := Write(s, out); err != nil {
			t.Fatal(err)
		}
		images[i] = read(t, out)
		// Modification times are not part of the image.
		put(t, filepath.Join(dir, "app", "data"), "words", 0o644)
	}
	if !bytes.Equal(images[0], images[1]) {
		t.Error("the second image differs from the first")
	}
}

func TestImageHasEntrypoint(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "bin")
	put(t, program, "program", 0o755)
	out := filepath.Join(dir, "image.tar")
	err := Write(Spec{
		Tag: "example/app:1", Architecture: "arm64", Files: []string{program + ":/bin/app"},
		Entrypoint: []string{"/bin/app"}, Cmd: []string{"serve"}, Env: []string{"A=b"}, User: "1000", WorkDir: "/data", Ports: []string{"80/tcp"},
	}, out)
	if err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(out, nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	got := []string{config.Architecture, config.Config.User, config.Config.WorkingDir}
	got = append(append(append(got, config.Config.Env...), config.Config.Entrypoint...), config.Config.Cmd...)
	want := []string{"arm64", "1000", "/data", defaultPath, "A=b", "/bin/app", "serve"}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
}

func TestMistakesNameTheirFlag(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		spec Spec
		want string
	}{
		{"no tag", Spec{}, "--tag"},
		{"a tag that is none", Spec{Tag: "A B"}, "--tag"},
		{"a file without a place", Spec{Tag: "a:1", Files: []string{"here"}}, "SRC:DST"},
		{"a file that is not there", Spec{Tag: "a:1", Files: []string{"nowhere:/a"}}, "nowhere"},
		{"a layer that is not there", Spec{Tag: "a:1", Layers: []string{"nowhere"}}, "--tar nowhere"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "image.tar")
			err := Write(tc.spec, out)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("something was written")
			}
		})
	}
}

func put(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
