package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/internal/atomicfile"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// directory is what agents had for each container before there was one file for all:
// start is the order, state how far it got, silent and log as now.
type directory string

func (c directory) filePath(name string) string { return filepath.Join(string(c), name) }

func (c directory) fixHint() string {
	return "remove the directory " + string(c) + ": the container is then reported as lost"
}

// listDirectories lists those with an order. One without was never confirmed, or is half
// removed; one with an empty file was written shortly before the machine itself failed,
// and its container is gone. Those are rests.
func listDirectories(dir string) (found, rests []directory, err error) {
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("list containers on disk: %w", err)
	}
	for _, n := range names {
		if c := directory(filepath.Join(dir, n.Name())); c.cutShort() {
			rests = append(rests, c)
		} else {
			found = append(found, c)
		}
	}
	return found, rests, nil
}

func (c directory) cutShort() bool {
	start, err := os.Stat(c.filePath("start"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && start.Size() == 0 {
		return true
	}
	state, err := os.Stat(c.filePath("state"))
	return err == nil && state.Size() == 0
}

// importDirectories takes over what an earlier version left. It may be cut short at any
// step, and is repeated then.
func (d *Disk) importDirectories(dir string) error {
	found, rests, err := listDirectories(dir)
	if err != nil {
		return err
	}
	for _, c := range found {
		if err := d.importDirectory(c); err != nil {
			return fmt.Errorf("take over container %s of an earlier agent: %w", filepath.Base(string(c)), err)
		}
	}
	for _, c := range append(rests, found...) {
		if err := errors.Join(removeFile(c.filePath("start")), os.RemoveAll(string(c))); err != nil {
			return fmt.Errorf("remove what is left of container %s: %w", filepath.Base(string(c)), err)
		}
	}
	return nil
}

func (d *Disk) importDirectory(c directory) error {
	e := Entry{d, filepath.Base(string(c))}
	it, err := c.read()
	if err != nil {
		return err
	}
	if d.orders.items[e.id] == nil {
		if err := d.addOrder(it); err != nil {
			return err
		}
	}
	// Also of an order that is there: the agent that took it over may have been killed here.
	if err := e.SetState(it.state); err != nil {
		return err
	}
	for from, to := range map[string]string{"log": e.logFile(), "silent": e.silentFile()} {
		if err := os.Rename(c.filePath(from), to); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (c directory) read() (*item, error) {
	it := &item{id: filepath.Base(string(c)), state: State{State: lifecycle.Assigned}}
	var err error
	if it.order, err = os.ReadFile(c.filePath("start")); err != nil {
		return nil, err
	}
	if err := proto.Unmarshal(it.order, new(agentv1.Start)); err != nil {
		return nil, &atomicfile.DamagedError{Path: c.filePath("start"), Err: fmt.Errorf("it is no order of a container: %w", err), Fix: c.fixHint()}
	}
	err = atomicfile.ReadJSON(c.filePath("state"), c.fixHint(), &it.state)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return it, err
}

func removeFile(name string) error {
	err := os.Remove(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	return err
}
