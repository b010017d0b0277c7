package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/det-deploy/det-deploy/test/rest"
)

// TestTheReleasedImage builds the image like `make image`, here and in a copy of the source tree: the
// archives must be equal.
func TestTheReleasedImage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("links det-deploy twice; run without -short")
	}
	here, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	out := makeImage(t, here)
	t.Run("is the same wherever it is made", func(t *testing.T) {
		rest.Only(t)
		t.Parallel()
		if !bytes.Equal(read(t, out), read(t, makeImage(t, copyTree(t, here)))) {
			t.Error("the image made in a copy of the tree differs")
		}
	})
	image, err := tarball.ImageFromPath(out, nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	got := []string{config.Config.User, strings.Join(config.Config.Entrypoint, " "), config.Config.Labels["org.opencontainers.image.version"]}
	if d := cmp.Diff(got, []string{"65532:65532", "/usr/bin/det-deploy", "v9.8.7"}); d != "" {
		t.Errorf("how it is started: got -, want +:\n%s", d)
	}
	checkFiles(t, files(t, image))
}

// checkFiles checks the files around the program.
func checkFiles(t *testing.T, have map[string][]byte) {
	t.Helper()
	if !strings.Contains(string(have["etc/passwd"]), ":65532:65532:") {
		t.Error("its user has no name in /etc/passwd")
	}
	if _, found := have["tmp"]; !found {
		t.Error("it has no /tmp")
	}
	if !x509.NewCertPool().AppendCertsFromPEM(have[rootsFile]) {
		t.Error("it trusts no authority")
	}
	program := bytes.NewReader(have["usr/bin/det-deploy"])
	e, err := elf.NewFile(program)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range e.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the program is not static")
		}
	}
	info, err := buildinfo.Read(program)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range info.Settings {
		if strings.HasPrefix(s.Key, "vcs") {
			t.Errorf("the program says when it was built: %s=%s", s.Key, s.Value)
		}
	}
}

func makeImage(t *testing.T, tree string) string {
	t.Helper()
	dist := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "make", "-s", "image", "DIST="+dist, "VERSION=v9.8.7")
	cmd.Dir = tree
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make image: %v\n%s", err, text)
	}
	return filepath.Join(dist, "det-deploy-v9.8.7-linux-"+runtime.GOARCH+".tar")
}

// copyTree copies the sources without build output.
func copyTree(t *testing.T, tree string) string {
	t.Helper()
	to := t.TempDir()
	entries, err := os.ReadDir(tree)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		switch e.Name() {
		case ".git", ".cache", "bin", "dist":
			continue
		}
		cmd := exec.CommandContext(t.Context(), "cp", "-r", filepath.Join(tree, e.Name()), to)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("copy %s: %v\n%s", e.Name(), err, text)
		}
	}
	return to
}

func files(t *testing.T, image v1.Image) map[string][]byte {
	t.Helper()
	flat := mutate.Extract(image)
	defer func() { _ = flat.Close() }() // it was read to its end
	out := make(map[string][]byte)
	r := tar.NewReader(flat)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(h.Name, "/")] = b
	}
}
