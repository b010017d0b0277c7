package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/target/local/supervise"
	"github.com/det-deploy/det-deploy/internal/atomicfile"
	"github.com/det-deploy/det-deploy/internal/checksum"
)

// platform is the platform of this machine.
const platform = runtime.GOOS + "-" + runtime.GOARCH

// program is a cluster's copy of det-deploy, named by its hash. The copy keeps a cluster on its
// release when the installed program is replaced, and an upgrade can return to it.
type program struct {
	base
	place Place
	sum   string
	// from is the file to copy. Create fails if its content has another hash.
	from string
}

func (p Place) programFile(sum string) string { return p.pathOf("bin", sum, "det-deploy") }

// programOf returns the path of a release's program.
func (p Place) programOf(r record.Release) string { return p.programFile(r.Programs[platform]) }

func (g *program) Find(context.Context) (resource.Found, []resource.Drift, error) {
	if !fileExists(g.place.programFile(g.sum)) {
		return resource.Found{}, nil, nil
	}
	return foundProgram(g.sum), nil, nil
}

// Create hashes the program while it copies it, so that the name always matches the content.
func (g *program) Create(ctx context.Context) error {
	path := g.place.programFile(g.sum)
	if err := g.h.gate.Pass(ctx, "write "+path); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return wrapRefusal("write", path, err)
	}
	return wrapRefusal("copy", g.from, copyProgram(g.from, path, g.sum))
}

func (g *program) Delete(ctx context.Context) error {
	if err := g.h.removeAll(ctx, filepath.Dir(g.place.programFile(g.sum))); err != nil {
		return err
	}
	g.h.removeEmpty(g.place.pathOf("bin"))
	return nil
}

// copyProgram copies a program and verifies its SHA-256.
func copyProgram(from, to, sum string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	// A child forked while the file is open for writing keeps it open until its exec, and until
	// then exec of the file fails with ETXTBSY.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return atomicfile.Replace(to, 0o700, func(w io.Writer) error {
		hash := sha256.New()
		if _, err := io.Copy(io.MultiWriter(w, hash), in); err != nil {
			return err
		}
		if hex.EncodeToString(hash.Sum(nil)) != sum {
			return &lostProgramError{sum}
		}
		return nil
	})
}

// lostProgramError reports that the program of the cluster's release no longer exists.
type lostProgramError struct{ sum string }

func (e *lostProgramError) Error() string {
	return "the program that the cluster runs (sha256 " + e.sum[:min(8, len(e.sum))] + "…) is gone, and this is another one"
}

func (e *lostProgramError) Hint() string { return "run `det-deploy local upgrade` with this one" }

func foundProgram(sum string) resource.Found {
	id := filepath.Join("bin", sum)
	return resource.Found{Kind: kindProgram, ID: id, Name: id}
}

// listPrograms returns the hashes of all copies.
func (p Place) listPrograms() ([]string, error) {
	files, err := fs.Glob(os.DirFS(p.pathOf("bin")), "*/det-deploy")
	if err != nil {
		return nil, wrapRefusal("list", "programs", err)
	}
	for i, f := range files {
		files[i] = path.Dir(f)
	}
	return files, nil
}

// Own returns the release of a program with the given version.
func Own(path, version string) (record.Release, error) {
	sum, err := checksum.File(path)
	if err != nil {
		return record.Release{}, fmt.Errorf("read this program: %w", err)
	}
	return record.Release{Version: version, Programs: map[string]string{platform: sum}}, nil
}

// Running returns the release that the cluster's master is set to run, or zero without a master. If
// known does not contain the version, it runs the program to get it.
func (p Place) Running(ctx context.Context, known ...record.Release) (record.Release, error) {
	u, found, err := p.Processes().Unit("master")
	if err != nil || !found || u.Program == "" {
		return record.Release{}, wrapRefusal("read unit", "master", err)
	}
	r := record.Release{Programs: map[string]string{platform: filepath.Base(filepath.Dir(u.Program))}}
	for _, k := range known {
		if k.Programs[platform] == r.Programs[platform] {
			return k, nil
		}
	}
	r.Version = versionOf(ctx, u.Program)
	return r, nil
}

// versionOf runs a program to get its version, or "" if that fails.
func versionOf(ctx context.Context, path string) string {
	c := exec.CommandContext(ctx, path, "version", "--output", "json")
	c.Env = supervise.Environ()
	out, err := c.Output()
	var answer struct {
		Version string `json:"version"`
	}
	if err != nil || json.Unmarshal(out, &answer) != nil {
		return ""
	}
	return strings.TrimSpace(answer.Version)
}
