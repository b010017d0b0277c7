// Package directory reads the directories that users send with tasks and experiments.
package directory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// The types of entries, as in tar files.
const (
	tarFile      = '0'
	tarDirectory = '5'
)

// mostEntries limits the entries of a directory. Masters accept fewer; the limit ends the reading of a
// directory such as / early.
const mostEntries = 200_000

// Directory is a scanned directory. The zero Directory has no files.
type Directory struct {
	// Files are the files and directories to send, without their contents.
	Files []*apiv1.File
	// Bytes is the total size of the files.
	Bytes int64
	// LeftOut counts what is not sent.
	LeftOut LeftOut

	// root has no symbolic links.
	root string
	skip ignore
}

// Scan lists the files of a directory except for those that its .detignore or the default patterns
// exclude. It returns an empty Directory if dir is "". Symbolic links to files are followed; links to
// directories are omitted because they may form cycles. It returns an error for a link that is broken or
// leads out of the directory.
func Scan(dir string) (*Directory, error) {
	if dir == "" {
		return &Directory{}, nil
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, usage.Errorf("--context %s: not a directory", dir)
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return nil, usage.Errorf("--context %s: not a directory", dir)
	}
	skip, err := readIgnore(filepath.Join(root, ignoreFile))
	if err != nil {
		return nil, err
	}
	d := &Directory{root: root, skip: skip}
	if err := filepath.WalkDir(root, d.visit); err != nil {
		return nil, fmt.Errorf("cannot read the directory %s: %w", dir, err)
	}
	return d, nil
}

// Path returns where a file of the directory is.
func (d *Directory) Path(f *apiv1.File) string {
	return filepath.Join(d.root, filepath.FromSlash(f.GetPath()))
}

func (d *Directory) visit(path string, e fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(d.root, path)
	if err != nil || rel == "." {
		return err
	}
	rel = filepath.ToSlash(rel)
	switch {
	case e.Name() == ignoreFile && !e.IsDir():
		return nil
	case d.skip.matchesPath(rel, isDirectory(path, e)):
		d.LeftOut.add(rel, isDirectory(path, e))
		if e.IsDir() {
			return filepath.SkipDir
		}
		return nil
	case e.Type()&fs.ModeSymlink != 0:
		if err := d.checkLink(path, rel); err != nil {
			return err
		}
	}
	return d.addEntry(path, rel)
}

// isDirectory reports whether an entry is a directory or a symbolic link to one.
func isDirectory(path string, d fs.DirEntry) bool {
	if d.Type()&fs.ModeSymlink == 0 {
		return d.IsDir()
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// checkLink returns an error if a symbolic link is broken or leads out of the directory.
func (d *Directory) checkLink(path, rel string) error {
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		to, _ := os.Readlink(path) // only for the message
		return usage.Errorf("the link %s is broken: its target %s does not exist; remove the link, or exclude it in .detignore", rel, to)
	}
	if err != nil {
		return err
	}
	if within, err := filepath.Rel(d.root, target); err == nil && filepath.IsLocal(within) {
		return nil
	}
	return usage.Errorf("the link %s leads out of the directory, to %s; copy its target into the directory, or exclude the link in .detignore", rel, target)
}

// addEntry adds a file or directory. Other entries, such as sockets, are left out.
func (d *Directory) addEntry(path, rel string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	link, err := os.Lstat(path)
	if err != nil {
		return err
	}
	f := &apiv1.File{Path: rel, Mode: uint32(info.Mode().Perm()), Mtime: info.ModTime().Unix(), Type: tarFile}
	switch {
	case info.IsDir() && link.Mode()&fs.ModeSymlink != 0:
		d.LeftOut.add(rel, true)
		return nil
	case info.IsDir():
		f.Type = tarDirectory
	case !info.Mode().IsRegular():
		d.LeftOut.add(rel, false)
		return nil
	default:
		d.Bytes += info.Size()
	}
	if d.Files = append(d.Files, f); len(d.Files) > mostEntries {
		return usage.Errorf("the directory has more than %d files; exclude files in .detignore", mostEntries)
	}
	return nil
}
