package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/det-deploy/det-deploy/agent/lifecycle"
)

// Reruns lists the containers of a data_dir that were ordered to be run again elsewhere
// when the master does not hear of this agent, and that have not ended. It changes
// nothing, and passes over what it cannot read: an agent may be writing it.
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
	for _, n := range names {
		e := Entry{dir: filepath.Join(dir, n.Name())}
		order, err := e.Start()
		if err != nil || !order.GetRerun() {
			continue
		}
		if s, err := e.State(); err != nil || s.State != lifecycle.Terminated {
			out = append(out, e)
		}
	}
	return out, nil
}

// Silence notes that the container is ended because the master does not answer, for
// the agent that reports its end.
func (e Entry) Silence() error {
	f, err := os.OpenFile(e.file("silent"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("note why container %s is ended: %w", e.ID(), err)
	}
	return f.Close()
}

// Silenced says whether that was noted.
func (e Entry) Silenced() bool {
	_, err := os.Lstat(e.file("silent"))
	return err == nil
}
