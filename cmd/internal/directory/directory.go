// Package directory reads the directories that users send with tasks and experiments.
package directory

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// limit is the maximum size of a directory in bytes, which is that of the det client. A master accepts a
// third more because of the encoding.
const limit = 96 << 20

// The types of entries, as in tar files.
const (
	tarFile      = '0'
	tarDirectory = '5'
)

// Read reads the files of a directory except for those that its .detignore or the default patterns
// exclude. It returns nil if dir is "". Symbolic links to files are followed; links to directories are
// omitted because they may form cycles. It returns an error for a link that leads out of the directory.
func Read(dir string) ([]*apiv1.File, error) {
	if dir == "" {
		return nil, nil
	}
	skip, err := readIgnore(filepath.Join(dir, ignoreFile))
	if err != nil {
		return nil, err
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, usage.Errorf("--context %s: not a directory", dir)
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return nil, usage.Errorf("--context %s: not a directory", dir)
	}
	r := reader{root: root, skip: skip}
	if err := filepath.WalkDir(root, r.visit); err != nil {
		return nil, fmt.Errorf("cannot read the directory %s: %w", dir, err)
	}
	return r.files, nil
}

// reader collects the files of a directory. root has no symbolic links.
type reader struct {
	root  string
	skip  ignore
	files []*apiv1.File
	size  int64
}

func (r *reader) visit(path string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(r.root, path)
	if err != nil || rel == "." {
		return err
	}
	rel = filepath.ToSlash(rel)
	switch {
	case r.skip.matchesPath(rel, isDirectory(path, d)) || d.Name() == ignoreFile:
		if d.IsDir() {
			return filepath.SkipDir
		}
		return nil
	case d.Type()&fs.ModeSymlink != 0:
		if err := r.checkLink(path, rel); err != nil {
			return err
		}
	}
	f, err := readEntry(path, rel)
	if err != nil || f == nil {
		return err
	}
	r.files = append(r.files, f)
	if r.size += int64(len(f.GetContent())); r.size > limit {
		return usage.Errorf("the directory has more than %d MB; exclude files in .detignore", limit>>20)
	}
	return nil
}

// isDirectory reports whether an entry is a directory or a symbolic link to one.
func isDirectory(path string, d fs.DirEntry) bool {
	if d.Type()&fs.ModeSymlink == 0 {
		return d.IsDir()
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// checkLink returns an error if a symbolic link leads out of the directory.
func (r *reader) checkLink(path, rel string) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if within, err := filepath.Rel(r.root, target); err == nil && filepath.IsLocal(within) {
		return nil
	}
	return usage.Errorf("the link %s leads out of the directory, to %s; copy its target into the directory, or exclude the link in .detignore", rel, target)
}

// readEntry returns a file or directory. It returns nil for other entries, such as sockets.
func readEntry(path, rel string) (*apiv1.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	f := &apiv1.File{
		Path: rel, Mode: uint32(info.Mode().Perm()), Mtime: info.ModTime().Unix(), Type: tarFile,
	}
	link, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir() && link.Mode()&fs.ModeSymlink != 0:
		return nil, nil
	case info.IsDir():
		f.Type = tarDirectory
		return f, nil
	case !info.Mode().IsRegular():
		return nil, nil
	case info.Size() > limit:
		return nil, usage.Errorf("%s has more than %d MB; exclude it in .detignore", rel, limit>>20)
	}
	f.Content, err = os.ReadFile(path)
	return f, err
}
