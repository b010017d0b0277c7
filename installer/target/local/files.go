package local

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/internal/document"
)

// The kinds in order of creation.
const (
	kindData       = "data"
	kindSecret     = "secret"
	kindLogs       = "logs"
	kindConfig     = "config"
	kindProgram    = "program"
	kindSupervisor = "supervisor"
	kindMachine    = "machine"
	kindMaster     = "master"
	kindAgentFiles = "agent-files"
	kindAgent      = "agent"
)

// The reasons why objects outlive `down`.
const (
	holdsData = "holds the cluster's database, keys and checkpoints"
	opensData = "opens the cluster's database"
)

// base holds the fields of all resources in this package.
type base struct {
	h          host
	kind, name string
	needs      []string
}

func (b base) ID() string      { return "local/" + b.kind + "/" + b.name }
func (b base) Kind() string    { return b.kind }
func (b base) Needs() []string { return b.needs }

// directory is a directory.
type directory struct {
	base
	path   string
	retain string
	// inner is a subdirectory to create, or "". The tasks of all users write there; the permissions
	// of path decide who can reach it.
	inner string
}

// innerMode allows tasks with different users to write.
const innerMode fs.FileMode = 0o777

func (d *directory) Find(context.Context) (resource.Found, []resource.Drift, error) {
	info, err := os.Stat(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return resource.Found{}, nil, nil
	}
	if err != nil {
		return resource.Found{}, nil, wrapRefusal("read", d.path, err)
	}
	var drift []resource.Drift
	if mode := info.Mode().Perm(); mode != 0o700 {
		drift = append(drift, resource.Drift{Path: "permissions", Have: mode.String(), Want: fs.FileMode(0o700).String()})
	}
	return foundFile(d.kind, d.path, d.retain), append(drift, d.innerDrift()...), nil
}

func (d *directory) innerDrift() []resource.Drift {
	if d.inner == "" {
		return nil
	}
	have := "none"
	if info, err := os.Stat(filepath.Join(d.path, d.inner)); err == nil {
		have = info.Mode().Perm().String()
	}
	if have == innerMode.String() {
		return nil
	}
	return []resource.Drift{{Path: "permissions of " + d.inner, Have: have, Want: innerMode.String()}}
}

func (d *directory) Create(ctx context.Context) error {
	if err := d.h.makeDirectory(ctx, filepath.Join(d.path, d.inner)); err != nil || d.inner == "" {
		return err
	}
	return d.openInner()
}

func (d *directory) openInner() error {
	inner := filepath.Join(d.path, d.inner)
	return wrapRefusal("open", inner, os.Chmod(inner, innerMode))
}

func (d *directory) Delete(ctx context.Context) error { return d.h.removeAll(ctx, d.path) }

func (d *directory) Update(ctx context.Context, _ []resource.Drift) error { return d.restrict(ctx) }

// restrict makes the directory accessible to its owner only, and creates inner.
func (d *directory) restrict(ctx context.Context) error {
	if err := d.h.gate.Pass(ctx, "restrict "+d.path); err != nil {
		return err
	}
	if err := os.Chmod(d.path, 0o700); err != nil || d.inner == "" {
		return wrapRefusal("restrict", d.path, err)
	}
	if err := os.MkdirAll(filepath.Join(d.path, d.inner), 0o700); err != nil {
		return wrapRefusal("make", filepath.Join(d.path, d.inner), err)
	}
	return d.openInner()
}

// file is a file. Its content is compared, except that of a secret, which is generated once and
// only checked for its permissions.
type file struct {
	base
	path    string
	secret  bool
	content func(context.Context) ([]byte, error)
	// compare returns the settings that differ; without it, or if it finds none, only that the content
	// differs is shown.
	compare func(have, want []byte) []document.Difference
	retain  string
}

func (f *file) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	have, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return resource.Found{}, nil, nil
	}
	if err != nil {
		return resource.Found{}, nil, wrapRefusal("read", f.path, err)
	}
	var drift []resource.Drift
	info, err := os.Stat(f.path)
	if err != nil {
		return resource.Found{}, nil, wrapRefusal("read", f.path, err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		drift = append(drift, resource.Drift{Path: "permissions", Have: mode.String(), Want: fs.FileMode(0o600).String()})
	}
	if !f.secret {
		want, err := f.content(ctx)
		if err != nil {
			return resource.Found{}, nil, err
		}
		if !bytes.Equal(have, want) {
			drift = append(drift, contentDrift("content", have, want, f.compare)...)
		}
	}
	return foundFile(f.kind, f.path, f.retain), drift, nil
}

func (f *file) Create(ctx context.Context) error {
	want, err := f.content(ctx)
	if err != nil {
		return err
	}
	return f.h.writeFile(ctx, f.path, want)
}

func (f *file) Delete(ctx context.Context) error { return f.h.removeAll(ctx, f.path) }

func (f *file) Update(ctx context.Context, _ []resource.Drift) error {
	if !f.secret {
		return f.Create(ctx)
	}
	return f.restrict(ctx)
}

// restrict makes the file accessible to its owner only.
func (f *file) restrict(ctx context.Context) error {
	if err := f.h.gate.Pass(ctx, "restrict "+f.path); err != nil {
		return err
	}
	return wrapRefusal("restrict", f.path, os.Chmod(f.path, 0o600))
}

// mendPermissions restores the permissions of the cluster's directories and files.
func (t *Target) mendPermissions(ctx context.Context) error {
	all, err := t.Wanted()
	if err != nil {
		return err
	}
	for _, r := range all {
		mendable, ok := r.(interface {
			restrict(ctx context.Context) error
		})
		if !ok {
			continue
		}
		_, drift, err := r.Find(ctx)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(drift, func(d resource.Drift) bool { return strings.HasPrefix(d.Path, "permissions") }) {
			if err := mendable.restrict(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// foundFile describes the object at path. Its ID is the base name, with the directory for an
// agent's files.
func foundFile(kind, path, retain string) resource.Found {
	id := filepath.Base(path)
	if kind == kindAgentFiles {
		id = filepath.Join("agents", id)
	}
	return resource.Found{Kind: kind, ID: id, Name: id, Retain: retain}
}

// contentDrift returns the settings in which the contents of a file differ, or else only that they do.
func contentDrift(path string, have, want []byte, compare func(have, want []byte) []document.Difference) []resource.Drift {
	var out []resource.Drift
	if compare != nil {
		out = differences(compare(have, want))
	}
	if len(out) == 0 {
		out = []resource.Drift{{Path: path, Have: "outdated", Want: "current"}}
	}
	out[0].Digest = digestOf(have) + " " + digestOf(want)
	return out
}

func differences(all []document.Difference) []resource.Drift {
	var out []resource.Drift
	for _, d := range all {
		out = append(out, resource.Drift{Path: d.Path, Have: d.Have, Want: d.Want})
	}
	return out
}

// digestOf returns a short digest, to compare contents.
func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])[:8]
}

// newPassword returns 26 random characters that satisfy the rule of Determined 0.38.1: an
// upper-case letter, a lower-case letter and a digit.
func newPassword(context.Context) ([]byte, error) {
	return []byte(strings.ToLower(rand.Text()[:12]) + "-" + rand.Text()[:12] + "-7\n"), nil
}

func lastLine(text []byte, err error) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return last
	}
	return err.Error()
}
