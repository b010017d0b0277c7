package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// What follows is for tasks that the release before has started, until they have ended. Their
// directories are in memory, below a link, with links of their own to what they have on
// disk; those that are not isolated were started without a wrapper, by a process that stays
// until its last task has ended. The lock and the lines of the status file are as now.
// It can go with the next release.

// Links in the directory of such a container.
const (
	formerFiles  = "files"
	formerOutput = "output"
)

// outputs are the names of a task's streams.
var outputs = [...]string{"stdout", "stderr"}

// outputFiles are where the output of each stream is.
func (d dir) outputFiles() (out [len(outputs)]string) {
	at, former := d.leadsTo(formerOutput)
	for i, name := range outputs {
		if out[i] = d.filePath(name); former {
			out[i] = at + "." + name
		}
	}
	return out
}

// leadsTo follows a link of the agent's. A directory that is not the agent's own may say anything.
func (d dir) leadsTo(link string) (at string, found bool) {
	if !d.isOwn() {
		return "", false
	}
	at, err := os.Readlink(d.filePath(link))
	return at, err == nil
}

// removeFormer removes what the links lead to.
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

// SweepFormer removes what the release before kept in a data directory for its tasks, once none
// is left. Others are the paths beside its directory of tasks.
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
