package process

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
)

// A runc task sees the machine's files together with its own. Its root directory, dir.view, has an
// entry for each entry of the machine's root, on which that is mounted, and entries for paths that
// the machine does not have. No mount point is ever created on the machine: if a mount needs one in
// a directory of the machine that lacks it, the task gets a replacement of that directory, built
// the same way.

// place is a path at which a task sees its own files or a mount.
type place struct {
	// path is the path in the task.
	path string
	// source is the path on the machine.
	source   string
	readOnly bool
	options  []string
	// own is true for the task's own files, which contain mount points for all mounts.
	own bool
}

// entriesMost is the maximum number of entries of a directory that is replaced.
const entriesMost = 2000

// Directories that are private to each task, on disk and in memory.
var (
	privateBinds  = []string{"/tmp", "/var/tmp"}
	privateMounts = []string{"/dev/shm", "/dev/mqueue", "/run/lock"}
)

// placesOf returns the mounts of a task and the paths of its files, which are stored below root.
// Paths within a mount are omitted.
func placesOf(root string, spec container.Spec) []place {
	var out []place
	for _, m := range spec.Mounts {
		p := place{path: path.Clean(m.ContainerPath), source: m.HostPath, readOnly: m.ReadOnly}
		if m.Propagation != "" {
			p.options = []string{m.Propagation}
		}
		out = append(out, p)
	}
	mounts := out
	for _, p := range newMapping(root, spec).prefixes {
		if !slices.ContainsFunc(mounts, func(m place) bool { return isWithin(p, m.path) }) {
			out = append(out, place{path: p, source: filepath.Join(root, p), own: true})
		}
	}
	// Outer places come before nested ones.
	slices.SortStableFunc(out, func(a, b place) int { return cmp.Compare(len(a.path), len(b.path)) })
	return out
}

// view builds the root directory of a task.
type view struct {
	// at is the directory to fill.
	at string
	// made contains the real paths of the machine's directories that are replaced.
	made map[string]bool
	// trusting skips the check whether users other than root can change the directories above a
	// place, because the task runs as the agent's own user.
	trusting bool
	mounts   []specs.Mount
}

// makeView creates the root directory at a path, with the given places, and returns its mounts. It
// sets the path of each place to its mount point.
func makeView(at string, places []place, trusting bool) ([]specs.Mount, error) {
	v := view{at: at, made: map[string]bool{"/": true}, trusting: trusting}
	missing := make([]bool, len(places))
	for i := range places {
		var err error
		if outer, found := enclosing(places[:i], places[i].path); found {
			err = checkNested(outer, places[i].path)
		} else if !isPrivate(places[i].path) {
			places[i].path, missing[i], err = v.resolve(places[i].path)
		}
		if err != nil {
			return nil, fmt.Errorf("mount at %s: %w", places[i].path, err)
		}
	}
	if err := v.expand("/"); err != nil {
		return nil, fmt.Errorf("create the view of the machine's files: %w", err)
	}
	for i, p := range places {
		if !missing[i] {
			continue
		}
		if err := v.makePlace(p); err != nil {
			return nil, fmt.Errorf("mount at %s: %w", p.path, err)
		}
	}
	return v.mounts, nil
}

// isPrivate reports whether a path is in a private directory.
func isPrivate(p string) bool {
	return slices.ContainsFunc(slices.Concat(privateBinds, privateMounts), func(dir string) bool { return isWithin(p, dir) })
}

// enclosing returns the innermost place that contains a path.
func enclosing(places []place, p string) (outer place, found bool) {
	for _, o := range places {
		if isWithin(p, o.path) {
			outer, found = o, true // later ones are longer
		}
	}
	return outer, found
}

// checkNested returns an error for a mount within another mount that has no mount point for it. A
// user with write access to the outer one could replace the mount point with a link, and an empty
// file or directory would be created at its target. Experiments have such mounts, in a directory
// that only their own tasks can write.
func checkNested(outer place, p string) error {
	if outer.own {
		return nil
	}
	at := outer.source + strings.TrimPrefix(p, outer.path)
	info, err := os.Lstat(at)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		err = errors.New("it is a link")
	}
	if err != nil {
		return fmt.Errorf("the mount at %s has no mount point for it: %w", outer.path, err)
	}
	return nil
}

// resolve resolves the links of a path, and records the directories to replace if part of it does
// not exist on the machine.
func (v *view) resolve(p string) (real string, missing bool, err error) {
	rest := ""
	for {
		real, err = filepath.EvalSymlinks(p)
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		if _, err := os.Lstat(p); err == nil {
			return p, false, fmt.Errorf("%s is a dangling link", p)
		}
		rest, p = filepath.Join(filepath.Base(p), rest), filepath.Dir(p)
	}
	if err != nil {
		return p, false, err
	}
	full := filepath.Join(real, rest)
	for dir := filepath.Dir(full); dir != "/"; dir = filepath.Dir(dir) {
		if !isWithin(real, dir) {
			continue // the machine does not have it
		}
		if err := v.checkDir(dir); err != nil {
			return full, false, err
		}
		if rest != "" {
			v.made[dir] = true
		}
	}
	return full, rest != "", nil
}

// checkDir returns an error for a directory that other users can change during the start of a task:
// they could redirect a mount or the creation of a mount point.
func (v *view) checkDir(dir string) error {
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return err
	}
	if !v.trusting && (st.Uid != 0 || st.Mode&0o022 != 0) {
		return fmt.Errorf("users other than root can write to %s; change container_path", dir)
	}
	return nil
}

// expand fills the replacement of a directory of the machine.
func (v *view) expand(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) > entriesMost {
		return fmt.Errorf("%s has more than %d entries; change container_path", dir, entriesMost)
	}
	for _, e := range entries {
		if err := v.show(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) { // removed meanwhile
			return err
		}
	}
	return nil
}

// show creates the entry for a path of the machine.
func (v *view) show(p string) error {
	info, err := os.Lstat(p)
	if err != nil {
		return err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(p)
		if err != nil {
			return err
		}
		return os.Symlink(to, v.at+p)
	case !info.IsDir():
		if err := os.WriteFile(v.at+p, nil, 0o600); err != nil {
			return err
		}
	default:
		if err := mkdirAs(v.at+p, info); err != nil {
			return err
		}
		if v.made[p] {
			return v.expand(p)
		}
		if p == "/proc" {
			return nil // mounted separately
		}
	}
	v.mounts = append(v.mounts, specs.Mount{Destination: p, Type: "bind", Source: p, Options: []string{"rbind"}})
	return nil
}

// mkdirAs creates a directory with the mode of another.
func mkdirAs(p string, like fs.FileInfo) error {
	if err := os.Mkdir(p, 0o755); err != nil {
		return err
	}
	return os.Chmod(p, like.Mode().Perm()|like.Mode()&fs.ModeSticky)
}

// makePlace creates the mount point of a place.
func (v *view) makePlace(p place) error {
	info, err := os.Stat(p.source)
	if err != nil {
		return err
	}
	at := v.at + p.path
	if info.IsDir() {
		return mkdirOpen(at)
	}
	if err := mkdirOpen(filepath.Dir(at)); err != nil {
		return err
	}
	return os.WriteFile(at, nil, 0o600)
}

// mkdirOpen creates missing directories with mode 0755 regardless of the umask.
func mkdirOpen(p string) error {
	err := os.Mkdir(p, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		if err = mkdirOpen(filepath.Dir(p)); err == nil {
			err = os.Mkdir(p, 0o755)
		}
	}
	if err != nil {
		return err
	}
	return os.Chmod(p, 0o755)
}

// isWithin reports whether p is dir or below it.
func isWithin(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}
