// Package rootfs shows a task its files where the task looks for them: in the machine's
// file tree, with places of the task's own, in a mount namespace of its own.
//
// Places are mounted over the machine's. Where one does not exist there, the tree is put
// together on a directory and then becomes the root of the namespace: the machine's mounts,
// the places over them, and a read-only stand-in of the parent that has what is missing.
package rootfs

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Place is a path at which a task sees something of its own.
type Place struct {
	// Path is absolute.
	Path string
	// Source is the file or directory that is shown there.
	Source string
	// ReadOnly holds for what is mounted below Source, too, and needs Linux 5.12.
	ReadOnly bool
	// Sealed is read-only for a source with no mounts below, of an agent that is root, on any
	// Linux.
	Sealed bool
}

// Tree is what a task sees of the machine's files.
type Tree struct {
	Places []Place
	// Stage is a directory of the machine on which the tree is put together, where that is needed.
	// It is made if it is not there, and nothing in it changes.
	Stage string
	// UID and GID are the task's user. Places that this user may make on the machine
	// are made there, so that their parents remain the machine's.
	UID, GID int
}

// Enter makes the tree what this thread sees. The thread must have a mount namespace
// of its own, and be locked to its goroutine for good.
func (t Tree) Enter() error {
	steps, err := t.steps()
	if err != nil {
		return err
	}
	return steps.run()
}

// steps are the system calls that build the tree and make it the root. It makes the
// places that the user may make.
func (t Tree) steps() (*steps, error) {
	sites, err := t.findSites()
	if err != nil {
		return nil, err
	}
	s := &steps{}
	parents := missingIn(sites)
	if len(parents) == 0 && !hidesSources(sites) {
		for _, site := range sites {
			s.bind(site.Place, site.Path)
		}
		return s, s.err
	}
	if err := os.Mkdir(t.Stage, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	if _, missing := parents["/"]; !missing {
		s.bind(Place{Source: "/"}, t.Stage)
	}
	for _, p := range slices.Sorted(mapKeys(parents)) {
		if err := s.standIn(p, t.Stage, parents[p]); err != nil {
			return nil, err
		}
	}
	for _, site := range sites {
		s.bind(site.Place, filepath.Join(t.Stage, site.Path))
	}
	s.enter(t.Stage, isMountPoint("/"))
	return s, s.err
}

// hidesSources says that a place would cover what is shown at another: then the tree is put
// together elsewhere. Otherwise places cover the machine's where they stand, which takes less
// than copying all mounts twice.
func hidesSources(sites []site) bool {
	return slices.ContainsFunc(sites, func(s site) bool {
		source := s.Source
		if !isOpen(source) {
			if real, err := realDir(filepath.Dir(source)); err == nil {
				source = filepath.Join(real, filepath.Base(source))
			}
		}
		return slices.ContainsFunc(sites, func(over site) bool {
			return source == over.Path || strings.HasPrefix(source, strings.TrimSuffix(over.Path, "/")+"/")
		})
	})
}

// realDir is filepath.EvalSymlinks for a directory, with three system calls however long the path is.
func realDir(name string) (string, error) {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	real, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	return real, errors.Join(err, unix.Close(fd))
}

// isOpen says whether a source is a file that this process has open.
func isOpen(source string) bool { return strings.HasPrefix(source, "/proc/self/fd/") }

// isMountPoint is true where the kernel does not say.
func isMountPoint(path string) bool {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, 0, 0, &st)
	return err != nil || st.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT == 0 || st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}

// site is a place with the path that it really has on the machine.
type site struct {
	Place

	// parent is the deepest directory that exists, and missing the rest of the path; it is
	// empty for what exists, and for what another place has.
	parent, missing string
	isDir           bool
	// asked is the path as it was asked for.
	asked string
}

// findSites resolves the places, parents before what is below them.
func (t Tree) findSites() ([]site, error) {
	places := slices.Clone(t.Places)
	slices.SortStableFunc(places, func(a, b Place) int { return cmp.Compare(a.Path, b.Path) })
	var out []site
	for _, p := range places {
		s, err := findSite(p, out)
		if err != nil {
			return nil, fmt.Errorf("show %s: %w", p.Path, err)
		}
		out = append(out, s)
	}
	slices.SortStableFunc(out, func(a, b site) int { return cmp.Compare(a.Path, b.Path) })
	for i := range out {
		within := func(o site) bool { return strings.HasPrefix(out[i].Path, o.Path+"/") }
		switch {
		case out[i].missing == "":
		case slices.ContainsFunc(out, within):
			out[i].missing = ""
		case makeAs(t.UID, t.GID, out[i].asked, out[i].isDir) == nil:
			if err := out[i].resolve(); err != nil {
				return nil, fmt.Errorf("show %s: %w", out[i].Path, err)
			}
		}
	}
	return out, nil
}

// findSite resolves a place. What is below another place is not looked for on the machine, of which the task
// sees nothing there.
func findSite(p Place, others []site) (site, error) {
	look := os.Lstat
	if filepath.Dir(p.Source) == "/proc/self/fd" {
		look = os.Stat
	}
	info, err := look(p.Source)
	if err != nil {
		return site{}, err
	}
	if info.Mode()&os.ModeSymlink != 0 {
		return site{}, errors.New("it is a link; a task can have links only below its work directory and /run/determined")
	}
	s := site{Place: p, isDir: info.IsDir(), asked: filepath.Clean(p.Path)}
	for _, o := range others {
		if rest, below := strings.CutPrefix(s.asked, o.asked+"/"); below {
			s.Path = filepath.Join(o.Path, rest)
			return s, nil
		}
	}
	return s, s.resolve()
}

// resolve finds how much of the path exists.
func (s *site) resolve() error {
	for parent, missing := filepath.Clean(s.Path), ""; ; {
		real, err := filepath.EvalSymlinks(parent)
		if err == nil {
			s.Path, s.parent, s.missing = filepath.Join(real, missing), real, missing
			return nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return err
		}
		parent, missing = filepath.Dir(parent), filepath.Join(filepath.Base(parent), missing)
	}
}

// makeAs makes a file or directory, and its parents, with the rights of a user. For root,
// who may make everything, it makes only what every user may.
func makeAs(uid, gid int, path string, isDir bool) error {
	if os.Geteuid() == 0 {
		if uid == 0 {
			uid, gid = nobody, nobody
		}
		// They are the thread's, which nothing else may use meanwhile, nor make another from it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := errors.Join(unix.Setfsgid(gid), unix.Setfsuid(uid)); err != nil {
			return err
		}
		defer func() { _ = errors.Join(unix.Setfsuid(0), unix.Setfsgid(0)) }() // they do not fail
	}
	if isDir {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

const nobody = 65534

// missingIn lists what has to be made in which existing directory.
func missingIn(sites []site) map[string][]site {
	out := map[string][]site{}
	for _, s := range sites {
		if s.missing != "" {
			out[s.parent] = append(out[s.parent], s)
		}
	}
	return out
}

func mapKeys(m map[string][]site) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
