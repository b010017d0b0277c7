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

// A task of runc's sees the machine's own files, with some of its own in their midst. Its root
// directory, below dir.view, has an entry for each of the machine's, on which that is mounted,
// and entries for what the machine does not have. So nothing is ever made on the machine for
// a mount: where a mount belongs into a directory of the machine's that lacks its
// place, the task gets a directory in place of that one which is made in the same way.

// place is a path at which a task sees something of its own.
type place struct {
	// Path is what the task calls it.
	path string
	// source is where it is on the machine.
	source   string
	readOnly bool
	options  []string
	// own says that it is the task's own files, which have places for all mounts.
	own bool
}

// entriesMost bounds the entries of a directory that is made for a task.
const entriesMost = 2000

// Directories of which each task has its own, on disk and in memory.
var (
	privateBinds  = []string{"/tmp", "/var/tmp"}
	privateMounts = []string{"/dev/shm", "/dev/mqueue", "/run/lock"}
)

// placesOf lists what a task sees at paths of its own: its mounts, and its files, which are
// below root. Of these, what is below a mount is the mount's.
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
	// What is below another comes after it.
	slices.SortStableFunc(out, func(a, b place) int { return cmp.Compare(len(a.path), len(b.path)) })
	return out
}

// view makes the root directory of a task.
type view struct {
	// at is the directory to fill.
	at string
	// made are the machine's directories of which the task has another, by their real paths.
	made map[string]bool
	// trusting leaves out that others than root may change the directories above a place:
	// they are the agent's own user.
	trusting bool
	mounts   []specs.Mount
}

// makeView makes the root directory at a path, with the given places, and returns the mounts
// that fill it. The paths of the places become those at which they are mounted.
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
		return nil, fmt.Errorf("show the machine's files: %w", err)
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

// isPrivate reports whether a path is in a directory that each task has for itself.
func isPrivate(p string) bool {
	return slices.ContainsFunc(slices.Concat(privateBinds, privateMounts), func(dir string) bool { return isWithin(p, dir) })
}

// enclosing is the innermost of the places in which a path is.
func enclosing(places []place, p string) (outer place, found bool) {
	for _, o := range places {
		if isWithin(p, o.path) {
			outer, found = o, true // later ones are longer
		}
	}
	return outer, found
}

// checkNested refuses a mount in another mount that has no place for it. Who may write in the outer
// one could put a link there by the time it is mounted, and have an empty place made where that
// leads: experiments have such mounts, in a directory that only their own tasks write in.
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
		return fmt.Errorf("the mount at %s has no place for it: %w", outer.path, err)
	}
	return nil
}

// resolve follows the links of a path, and notes which directories are to be made if
// the machine does not have all of it.
func (v *view) resolve(p string) (real string, missing bool, err error) {
	rest := ""
	for {
		real, err = filepath.EvalSymlinks(p)
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		if _, err := os.Lstat(p); err == nil {
			return p, false, fmt.Errorf("%s is a link to what is not there", p)
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

// checkDir refuses a directory that others may change while the task is started: they could have
// something mounted, or made, where they may not.
func (v *view) checkDir(dir string) error {
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return err
	}
	if !v.trusting && (st.Uid != 0 || st.Mode&0o022 != 0) {
		return fmt.Errorf("others than root may write in %s; choose another container_path", dir)
	}
	return nil
}

// expand fills the task's directory in the place of one of the machine's.
func (v *view) expand(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) > entriesMost {
		return fmt.Errorf("%s has more than %d entries; choose another container_path", dir, entriesMost)
	}
	for _, e := range entries {
		if err := v.show(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) { // gone meanwhile
			return err
		}
	}
	return nil
}

// show gives the task an entry of a directory of the machine's.
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
			return nil // it has its own
		}
	}
	v.mounts = append(v.mounts, specs.Mount{Destination: p, Type: "bind", Source: p, Options: []string{"rbind"}})
	return nil
}

// mkdirAs makes a directory like another.
func mkdirAs(p string, like fs.FileInfo) error {
	if err := os.Mkdir(p, 0o755); err != nil {
		return err
	}
	return os.Chmod(p, like.Mode().Perm()|like.Mode()&fs.ModeSticky)
}

// makePlace makes what the machine does not have of the path of a place.
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

// mkdirOpen makes the directories of a path that are missing, for all users whatever the agent's umask.
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
