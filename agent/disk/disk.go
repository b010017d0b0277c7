// Package disk is what an agent must still know after it was killed: which
// containers it was told to run, how far each got, how it ended, and the log
// lines that the master does not have yet.
//
//	<data_dir>/orders            a record for each order, written before it is confirmed,
//	                             and for each step of its container; see record
//	           logs/<id>.log     the journal of its lines, from the first on
//	           logs/<id>.silent  there when a keeper of an earlier version was ending it because
//	                             the master did not answer
//
// Nothing waits for the medium: after the machine itself has failed its containers are
// gone as well, and the agent reports that.
package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/agent/journal"
	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// Disk is what an agent has on disk of its containers.
type Disk struct {
	dir string

	// mu guards orders.
	mu     sync.Mutex
	orders *orders
}

// Entry is what there is of one container.
type Entry struct {
	disk *Disk
	id   string
}

// State is how far a container got.
type State struct {
	State lifecycle.State `json:"state"`
	// AtMicros is when, in microseconds since 1970.
	AtMicros int64 `json:"at_us"`
	// Exit is set with TERMINATED.
	Exit *lifecycle.Exit `json:"exit,omitempty"`
	// Terminate says that the container was asked to end.
	Terminate bool `json:"terminate,omitempty"`
	// KillAtMicros is when it is killed; 0 is never.
	KillAtMicros int64 `json:"kill_at_us,omitempty"`
	// Silent says that it is killed because the master did not answer.
	Silent bool `json:"silent,omitempty"`
}

// Open reads what an earlier agent left, and takes over what one left that had a
// directory for each container. Other users may read none of it: orders hold the
// tokens of tasks.
func Open(dataDir string) (*Disk, error) {
	d := &Disk{dir: filepath.Join(dataDir, "logs")}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of logs: %w", err)
	}
	if err := os.Chmod(d.dir, 0o700); err != nil {
		return nil, fmt.Errorf("close the directory of logs to others: %w", err)
	}
	var err error
	if d.orders, err = openOrders(dataDir); err != nil {
		return nil, err
	}
	if err := errors.Join(d.importDirectories(filepath.Join(dataDir, "containers")), d.sweepLogs()); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Close closes the file of orders.
func (d *Disk) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.orders.close()
}

// Damage is nil when all was read that an earlier agent left, or what was not. Nothing is known any
// more of containers whose order was there.
func (d *Disk) Damage() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.orders.damage
}

// Add writes an order down. One that is there already is left as it is, and
// added is false.
func (d *Disk) Add(s *agentv1.Start) (e Entry, added bool, err error) {
	id := s.GetContainerId()
	if id == "" || id == "." || id == ".." || len(id) > maxID || strings.ContainsAny(id, "/\x00") {
		return Entry{}, false, fmt.Errorf("container id %q: must be a plain name", id)
	}
	data, err := proto.Marshal(s)
	if err != nil {
		return Entry{}, false, fmt.Errorf("write order for container %s: %w", id, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.orders.items[id] != nil {
		return Entry{d, id}, false, nil
	}
	if err := d.addOrder(&item{id: id, order: data, state: State{State: lifecycle.Assigned}}); err != nil {
		return Entry{}, false, fmt.Errorf("write order for container %s: %w", id, err)
	}
	return Entry{d, id}, true, nil
}

// maxID is the longest name of a container in bytes, with room for the suffix of its files.
const maxID = 240

// addOrder writes down what is new; the caller holds mu.
func (d *Disk) addOrder(it *item) (err error) {
	if err := d.orders.shrink(); err != nil {
		return err
	}
	if it.at, it.size, err = d.orders.append(it.orderRecord()); err != nil {
		return err
	}
	d.orders.items[it.id] = it
	return nil
}

// Entries lists the containers.
func (d *Disk) Entries() []Entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []Entry
	for _, it := range d.orders.sorted() {
		out = append(out, Entry{d, it.id})
	}
	return out
}

// ID is the container's.
func (e Entry) ID() string { return e.id }

// errRemoved is for an entry that is used after its removal.
var errRemoved = errors.New("it was removed")

// change does something with what is known of the container.
func (e Entry) change(what string, do func(o *orders, it *item) error) error {
	e.disk.mu.Lock()
	defer e.disk.mu.Unlock()
	it := e.disk.orders.items[e.id]
	if it == nil {
		return fmt.Errorf("%s of container %s: %w", what, e.id, errRemoved)
	}
	if err := do(e.disk.orders, it); err != nil {
		return fmt.Errorf("%s of container %s: %w", what, e.id, err)
	}
	return nil
}

// Start reads the order.
func (e Entry) Start() (*agentv1.Start, error) {
	var s agentv1.Start
	err := e.change("read order", func(o *orders, it *item) error {
		if err := proto.Unmarshal(it.order, &s); err != nil {
			return o.damaged(fmt.Errorf("it has no order of a container: %w", err), "remove it: the containers in it are then reported as lost")
		}
		return nil
	})
	return &s, err
}

// Trim leaves of an order what an agent needs that finds its container started or ended:
// which one it is, and whether it ends when the master does not answer. Tokens, passwords, variables
// and files are gone from the disk. The state is stored with it, by the same write.
func (e Entry) Trim(s *agentv1.Start, state State) error {
	data, err := proto.Marshal(&agentv1.Start{
		ContainerId: s.GetContainerId(), AllocationId: s.GetAllocationId(), TaskId: s.GetTaskId(),
		DeviceIds: s.GetDeviceIds(), Rank: s.GetRank(), Rerun: s.GetRerun(),
		Spec: &agentv1.Spec{Description: s.GetSpec().GetDescription(), TaskType: s.GetSpec().GetTaskType()},
	})
	if err != nil {
		return fmt.Errorf("trim order of container %s: %w", e.id, err)
	}
	return e.change("trim order", func(o *orders, it *item) error {
		if it.trimmed {
			return o.setState(it, state)
		}
		return o.trim(it, data, state)
	})
}

// State is how far the container got; one of which nothing is written is ASSIGNED.
func (e Entry) State() (s State, err error) {
	err = e.change("read state", func(_ *orders, it *item) error {
		s = it.state
		return nil
	})
	return s, err
}

// SetState writes how far the container got.
func (e Entry) SetState(s State) error {
	return e.change("write state", func(o *orders, it *item) error { return o.setState(it, s) })
}

// Journal opens the container's log lines.
func (e Entry) Journal() (*journal.Journal, error) {
	return journal.Open(e.logFile())
}

func (e Entry) logFile() string { return filepath.Join(e.disk.dir, e.id+logSuffix) }

func (e Entry) silentFile() string { return filepath.Join(e.disk.dir, e.id+silentSuffix) }

// Silenced reports whether a keeper, which agents of an earlier version had beside them, was ending
// the container because the master did not answer.
func (e Entry) Silenced() bool {
	_, err := os.Lstat(e.silentFile())
	return err == nil
}

const (
	logSuffix    = ".log"
	silentSuffix = ".silent"
)

// Discard removes what is there of an order that is not kept.
func (e Entry) Discard() error {
	if e.disk == nil {
		return nil
	}
	return e.Remove()
}

// Remove forgets the container: the order first, so that what an interrupted
// removal leaves is no container.
func (e Entry) Remove() error {
	err := e.change("forget order", func(o *orders, it *item) error {
		if err := o.erase(it.at, it.size); err != nil {
			return err
		}
		delete(o.items, e.id)
		return nil
	})
	if err != nil && !errors.Is(err, errRemoved) {
		return err
	}
	// Not os.Remove, which also tries whether it is a directory.
	if err := syscall.Unlink(e.silentFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget container %s: %w", e.id, err)
	}
	if err := os.Remove(e.logFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget container %s: %w", e.id, err)
	}
	return nil
}

// sweepLogs removes the files of containers that are gone.
func (d *Disk) sweepLogs() error {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return fmt.Errorf("list logs: %w", err)
	}
	for _, e := range entries {
		id := strings.TrimSuffix(strings.TrimSuffix(e.Name(), logSuffix), silentSuffix)
		if id != e.Name() && d.orders.items[id] != nil {
			continue
		}
		if err := os.Remove(filepath.Join(d.dir, e.Name())); err != nil {
			return fmt.Errorf("remove the log of a container that is gone: %w", err)
		}
	}
	return nil
}
