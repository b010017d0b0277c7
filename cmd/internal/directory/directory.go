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

// Read reads the files of a directory except for those that its .detignore excludes. It returns nil if dir
// is "". Symbolic links to files are followed; links to directories are omitted because they may form
// cycles.
func Read(dir string) ([]*apiv1.File, error) {
	if dir == "" {
		return nil, nil
	}
	skip, err := readIgnore(filepath.Join(dir, ".detignore"))
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, usage.Errorf("--context %s: not a directory", dir)
	}
	var files []*apiv1.File
	size := int64(0)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || rel == "." {
			return err
		}
		if skip.matchesPath(filepath.ToSlash(rel), d.IsDir()) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		f, err := readEntry(path, filepath.ToSlash(rel))
		if err != nil || f == nil {
			return err
		}
		files = append(files, f)
		if size += int64(len(f.GetContent())); size > limit {
			return usage.Errorf("the directory has more than %d MB; exclude files in .detignore", limit>>20)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read the directory %s: %w", dir, err)
	}
	return files, nil
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
