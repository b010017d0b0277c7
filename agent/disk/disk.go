// Package disk stores the state of an agent's containers, so that it survives a kill of the agent:
// orders, states, exits, and the log lines that the master has not acknowledged.
//
//	<data_dir>/containers/<id>.json          the order and the state of one container; see record
//	                      <id>.end           space for the record of its exit, so that a full disk does not
//	                                         lose it
//	                      <id>.json.damaged  an unreadable record, set aside
//	           logs/<id>.log                 the journal of its lines, from the first on
//	                <id>.silent              exists if a keeper of an earlier version was ending it because
//	                                         the master did not answer
//
// Files are not synced: if the machine itself fails, its containers are lost too, and the agent
// reports that.
package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/internal/atomicfile"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// Disk is the part of a data_dir that describes containers.
type Disk struct {
	dir, logs string
	damage    error

	// mu guards items.
	mu    sync.Mutex
	items map[string]*item
}

func newDisk(dataDir string) *Disk {
	return &Disk{dir: filepath.Join(dataDir, "containers"), logs: filepath.Join(dataDir, "logs"), items: map[string]*item{}}
}

// Open reads the records of an earlier agent, including those of the previous version, and deletes
// the files of removed containers. The directories are readable only by the owner, because orders
// contain the tokens of tasks.
func Open(dataDir string) (*Disk, error) {
	d := newDisk(dataDir)
	for _, dir := range []string{d.dir, d.logs} {
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.Chmod(dir, 0o700)); err != nil {
			return nil, fmt.Errorf("create the directories of containers: %w", err)
		}
	}
	if err := d.convertOrders(ordersFile(dataDir)); err != nil {
		return nil, err
	}
	ids, err := listIDs(d.dir)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if err := d.read(id); err != nil {
			return nil, fmt.Errorf("read container %s: %w", id, err)
		}
	}
	return d, d.sweep()
}

// read reads the record of a container. A damaged record is renamed.
func (d *Disk) read(id string) error {
	path := filepath.Join(d.dir, id+recordSuffix)
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, unix.EIO) { // EIO is a block that the disk lost
		return err
	}
	var it *item
	if err == nil {
		it, err = decodeRecord(id, data)
	}
	switch {
	case err == nil:
		d.items[id] = it
		return nil
	case errors.Is(err, errBlank):
		return nil // sweep deletes it
	case errors.Is(err, errLater):
		return &atomicfile.DamagedError{Path: path, Err: err, Fix: "install that version, or remove the file: its container is then reported as lost"}
	}
	d.damage = errors.Join(d.damage, &atomicfile.DamagedError{Path: path, Err: err, Fix: "check the disk for errors; the container is reported as lost"})
	return os.Rename(path, path+damagedSuffix)
}

// Damage returns an error for each record that Open could not read, or nil. The agent has no
// information about these containers.
func (d *Disk) Damage() error { return d.damage }

// maxID is the maximum length of a container ID in bytes. File names have suffixes, and those of
// temporary files have digits too.
const maxID = 230

// Add writes the record of a new container. If the container exists, Add returns its entry and
// added is false.
func (d *Disk) Add(order *agentv1.Start) (e Entry, added bool, err error) {
	id := order.GetContainerId()
	if !isPlainName(id) {
		return Entry{}, false, fmt.Errorf("container id %q: must be a plain name", id)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if it := d.items[id]; it != nil {
		return Entry{d, it}, false, nil
	}
	e = Entry{d, &item{id: id, order: order, state: State{State: lifecycle.Assigned}}}
	if err = e.reserve(); err == nil {
		err = e.save(e.state)
	}
	if err != nil {
		return Entry{}, false, errors.Join(fmt.Errorf("write order for container %s: %w", id, err), e.removeFiles())
	}
	d.items[id] = e.item
	return e, true, nil
}

func isPlainName(id string) bool {
	return id != "" && id != "." && id != ".." && len(id) <= maxID && !strings.ContainsAny(id, "/\x00")
}

// Entries returns all containers.
func (d *Disk) Entries() []Entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]Entry, 0, len(d.items))
	for _, it := range d.items {
		out = append(out, Entry{d, it})
	}
	return out
}

// sweep deletes the files of removed containers and of interrupted writes.
func (d *Disk) sweep() error {
	for dir, suffixes := range map[string][]string{d.dir: {recordSuffix, endSuffix}, d.logs: {logSuffix, silentSuffix}} {
		files, err := os.ReadDir(dir)
		if err != nil {
			return fmt.Errorf("list files of containers: %w", err)
		}
		for _, f := range files {
			if strings.HasSuffix(f.Name(), recordSuffix+damagedSuffix) || d.isKnown(f.Name(), suffixes) {
				continue
			}
			if err := os.RemoveAll(filepath.Join(dir, f.Name())); err != nil {
				return fmt.Errorf("remove a file of a removed container: %w", err)
			}
		}
	}
	return nil
}

func (d *Disk) isKnown(file string, suffixes []string) bool {
	for _, s := range suffixes {
		if id, ok := strings.CutSuffix(file, s); ok && d.items[id] != nil {
			return true
		}
	}
	return false
}
