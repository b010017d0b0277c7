package process

import (
	"errors"
	"io/fs"
	"path"
	"slices"

	"github.com/det-deploy/det-deploy/agent/container"
)

// takeKept has what was kept of another task on disk be what a new directory would have, in
// which the order finds it. What is as it is ordered is left alone, as it is by most tasks: one
// that nothing has changed is not looked through; see stamps.
func (t tree) takeKept(spec container.Spec) error {
	for _, name := range append([]string{"."}, keptDirs[:]...) {
		if name != "." && !isOrdered(spec, path.Join(runDir, name)) {
			if err := t.disk.RemoveAll(name); err != nil {
				return err
			}
			continue
		}
		if err := t.takeDir(spec, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// isOrdered says whether a directory, or something in it, is ordered, and nothing else in its place.
func isOrdered(spec container.Spec, dir string) bool {
	return (isWithin(path.Clean(workDir(spec)), dir) || hasFiles(spec, dir)) && !isReplaced(spec, dir)
}

// hasFiles says whether files in a directory are ordered, or itself.
func hasFiles(spec container.Spec, dir string) bool {
	return slices.ContainsFunc(spec.Files, func(f container.File) bool { return isWithin(path.Clean(f.Path), dir) })
}

// isReplaced says whether a file or link is ordered in the place of a directory.
func isReplaced(spec container.Spec, dir string) bool {
	return slices.ContainsFunc(spec.Files, func(f container.File) bool { return path.Clean(f.Path) == dir && !f.Dir })
}

// takeDir gives a directory the mode of a new one, and that which is ordered.
func (t tree) takeDir(spec container.Spec, name string) error {
	info, err := t.disk.Lstat(name)
	if err != nil {
		return err
	}
	in := relPath(path.Join(runDir, name))
	mode := fs.ModeDir | 0o755
	if root, at := t.at(in); root == t.disk && at == name {
		mode = orderedMode(spec, in)
		t.made[in], t.kept[in] = true, mode
	}
	if info.Mode() == mode {
		return nil
	}
	return t.disk.Chmod(name, mode.Perm())
}

// orderedMode has the bits with which a directory is filled.
func orderedMode(spec container.Spec, name string) fs.FileMode {
	for _, f := range spec.Files {
		if f.Dir && relPath(f.Path) == name {
			return fs.ModeDir | fs.FileMode(f.Mode&0o777) | 0o700
		}
	}
	return fs.ModeDir | 0o755
}
