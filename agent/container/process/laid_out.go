package process

import (
	"errors"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
)

// putInfo fills infoDir, which is all that is left to do where isLaidOut.
func (l layout) putInfo(spec container.Spec) (err error) {
	if err := unix.Mkdir(l.info, 0o755); err != nil {
		return err
	}
	at, err := unix.Open(l.info, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	mode := uint32(0o755)
	for _, f := range spec.Files {
		p := path.Clean(f.Path)
		switch {
		case p == infoDir:
			mode = f.Mode & 0o777
		case !f.Dir && err == nil:
			err = writeSmall(at, path.Base(p), f)
		}
	}
	if err = errors.Join(err, unix.Close(at)); err == nil {
		err = unix.Chmod(l.info, mode) // whatever the umask
	}
	return err
}

// isLaidOut says that all that is on disk is as it is ordered, since it was another task's, but for the
// place of infoDir, which is in memory: so it is for most short tasks.
func (l layout) isLaidOut(spec container.Spec) bool {
	onlyInfo := l.info != "" && l.root == "" && len(l.large) == 1 && l.large[0].path == runDir && len(spec.Mounts) == 0
	if l.modes == (stamps{}) || !onlyInfo || credentialOf(spec.User) != nil || !l.hasKept(infoDir, 0o755) {
		return false
	}
	ordered := map[string]bool{infoDir: true}
	for _, f := range spec.Files {
		p := path.Clean(f.Path)
		if hasOwner(f) || !f.ModTime.IsZero() || f.Link != "" {
			return false
		}
		switch {
		case !f.Dir && path.Dir(p) == infoDir && !ordered[p]:
		case f.Dir && p == infoDir:
		case f.Dir && l.hasKept(p, f.Mode):
		default:
			return false
		}
		ordered[p] = true
	}
	dir := path.Clean(workDir(spec))
	if !ordered[dir] && !l.hasKept(dir, 0o755) {
		return false
	}
	// What another task has left that this one is not to find.
	for i, name := range keptDirs {
		if p := runDir + "/" + name; l.modes[1+i].inode != 0 && !ordered[p] && p != dir {
			return false
		}
	}
	return ordered[runDir] || l.hasKept(runDir, 0o755)
}

// infoNames are the files that putInfo makes, as the directory of the container has them.
func infoNames(spec container.Spec) (out []string) {
	for _, f := range spec.Files {
		if !f.Dir && path.Dir(path.Clean(f.Path)) == infoDir {
			out = append(out, infoName+"/"+path.Base(f.Path))
		}
	}
	return out
}

// hasKept says that a directory is there and has a mode.
func (l layout) hasKept(p string, mode uint32) bool {
	i := 0
	if p != runDir {
		name, below := strings.CutPrefix(p, runDir+"/")
		if i = 1 + slices.Index(keptDirs[:], name); !below || i == 0 {
			return false
		}
	}
	return l.modes[i].inode != 0 && l.modes[i].mode == unix.S_IFDIR|mode&0o777
}

// writeSmall writes a file that is not there.
func writeSmall(dir int, name string, f container.File) (err error) {
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	for text := f.Content; len(text) > 0 && err == nil; {
		var n int
		if n, err = unix.Write(fd, text); n > 0 {
			text = text[n:]
		}
		if errors.Is(err, unix.EINTR) {
			err = nil
		}
	}
	if err == nil {
		err = unix.Fchmod(fd, f.Mode&0o777)
	}
	return errors.Join(err, unix.Close(fd))
}
