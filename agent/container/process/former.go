package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// The code below handles tasks of the previous release until they exit. Their directories are in
// memory, below a link, with links to their files on disk. Tasks without isolation were started
// without a wrapper, by a process that stays until its last task has exited. The lock and the lines
// of the status file are unchanged. Remove it in the next release.

// Links in the directory of such a container.
const (
	formerFiles  = "files"
	formerOutput = "output"
)

// outputs are the names of a task's streams.
var outputs = [...]string{"stdout", "stderr"}

// outputFiles returns the paths of the output files.
func (d dir) outputFiles() (out [len(outputs)]string) {
	at, former := d.leadsTo(formerOutput)
	for i, name := range outputs {
		if out[i] = d.filePath(name); former {
			out[i] = at + "." + name
		}
	}
	return out
}

// leadsTo reads a link in a directory of the agent. It ignores links in a directory that does not
// belong to the agent, because they cannot be trusted.
func (d dir) leadsTo(link string) (at string, found bool) {
	if !d.isOwn() {
		return "", false
	}
	at, err := os.Readlink(d.filePath(link))
	return at, err == nil
}

// removeFormer deletes the targets of the links.
func (d dir) removeFormer() error {
	var errs []error
	if at, found := d.leadsTo(formerFiles); found {
		errs = append(errs, os.RemoveAll(at))
	}
	if at, found := d.leadsTo(formerOutput); found {
		for _, name := range outputs {
			if err := os.Remove(at + "." + name); !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// SweepFormer deletes the files of the previous release in a data directory once it has no tasks.
// others are the paths next to its directory of tasks.
func SweepFormer(tasks string, others ...string) error {
	entries, err := os.ReadDir(tasks)
	if len(entries) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var errs []error
	if at, err := os.Readlink(tasks); err == nil {
		errs = append(errs, os.RemoveAll(at), os.RemoveAll(at+".owner"))
	}
	for _, p := range append(others, filepath.Clean(tasks)) {
		errs = append(errs, os.RemoveAll(p))
	}
	return errors.Join(errs...)
}
