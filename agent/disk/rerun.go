package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/det-deploy/det-deploy/agent/lifecycle"
)

// Reruns lists the containers of a data_dir that were ordered to be run again elsewhere
// when the master does not hear of this agent, and that have not ended. It changes
// nothing. The error is of those that cannot be read, which may be such containers; the
// others are listed all the same.
func Reruns(dataDir string) ([]Entry, error) {
	o, err := readOrders(dataDir)
	if err != nil {
		return nil, err
	}
	d := &Disk{dir: filepath.Join(dataDir, "logs"), orders: o}
	var out []Entry
	errs := []error{o.damage}
	for _, it := range o.sorted() {
		e := Entry{d, it.id}
		order, err := e.Start()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if order.GetRerun() && it.state.State != lifecycle.Terminated {
			out = append(out, e)
		}
	}
	return out, errors.Join(errs...)
}

// Silence notes that the container is ended because the master does not answer, for
// the agent that reports its end.
func (e Entry) Silence() error {
	f, err := os.OpenFile(e.silentFile(), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("note why container %s is ended: %w", e.id, err)
	}
	return f.Close()
}

// Silenced says whether that was noted.
func (e Entry) Silenced() bool {
	_, err := os.Lstat(e.silentFile())
	return err == nil
}
