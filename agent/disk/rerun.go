package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/atomicfile"
)

// Reruns lists the containers of a data_dir that were ordered to be run again elsewhere
// when the master does not hear of this agent, and that have not ended. It changes
// nothing, and passes over what is no order, or none any more: an agent may be removing
// it. The error is of those that cannot be read, which may be such containers; the
// others are listed all the same.
func Reruns(dataDir string) ([]Entry, error) {
	dir := filepath.Join(dataDir, "containers")
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list containers on disk: %w", err)
	}
	var out []Entry
	var errs []error
	for _, n := range names {
		e := Entry{dir: filepath.Join(dir, n.Name())}
		order, err := e.Start()
		if err != nil && !isNoOrder(err) {
			errs = append(errs, fmt.Errorf("container %s: %w", e.ID(), err))
		}
		if err != nil || !order.GetRerun() {
			continue
		}
		if s, err := e.State(); err != nil || s.State != lifecycle.Terminated {
			out = append(out, e)
		}
	}
	return out, errors.Join(errs...)
}

// isNoOrder tells what will not become an order by reading it again.
func isNoOrder(err error) bool {
	_, damaged := errors.AsType[*atomicfile.DamagedError](err)
	return damaged || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// Silence notes that the container is ended because the master does not answer, for
// the agent that reports its end.
func (e Entry) Silence() error {
	f, err := os.OpenFile(e.filePath("silent"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("note why container %s is ended: %w", e.ID(), err)
	}
	return f.Close()
}

// Silenced says whether that was noted.
func (e Entry) Silenced() bool {
	_, err := os.Lstat(e.filePath("silent"))
	return err == nil
}
