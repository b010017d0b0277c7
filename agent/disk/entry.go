package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/det-deploy/det-deploy/agent/journal"
	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/internal/atomicfile"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// Entry is one container on disk.
type Entry struct {
	disk *Disk
	*item
}

type item struct {
	id    string
	order *agentv1.Start

	// mu guards the fields below and the container's files.
	mu      sync.Mutex
	state   State
	removed bool
}

// State is the state of a container.
type State struct {
	State lifecycle.State `json:"state"`
	// AtMicros is the time of the change, in microseconds since 1970.
	AtMicros int64 `json:"at_us"`
	// Exit is set with TERMINATED.
	Exit *lifecycle.Exit `json:"exit,omitempty"`
	// Terminate reports whether the container was asked to stop.
	Terminate bool `json:"terminate,omitempty"`
	// KillAtMicros is the time at which the container is killed, or 0 for never.
	KillAtMicros int64 `json:"kill_at_us,omitempty"`
	// Silent reports whether the container is killed because the master did not answer.
	Silent bool `json:"silent,omitempty"`
}

const (
	recordSuffix  = ".json"
	damagedSuffix = ".damaged"
	endSuffix     = ".end"
	logSuffix     = ".log"
	silentSuffix  = ".silent"
)

func (e Entry) recordFile() string { return filepath.Join(e.disk.dir, e.id+recordSuffix) }
func (e Entry) endFile() string    { return filepath.Join(e.disk.dir, e.id+endSuffix) }
func (e Entry) logFile() string    { return filepath.Join(e.disk.logs, e.id+logSuffix) }
func (e Entry) silentFile() string { return filepath.Join(e.disk.logs, e.id+silentSuffix) }

// ID returns the container's ID.
func (e Entry) ID() string { return e.id }

// Start returns the order. If an earlier agent started the container, it contains no secrets.
func (e Entry) Start() *agentv1.Start { return e.order }

// State returns the last saved state.
func (e Entry) State() State {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state
}

// errRemoved is returned for an entry that was removed.
var errRemoved = errors.New("it was removed")

// SetState saves the state. When it returns, the state survives a kill of the agent.
func (e Entry) SetState(s State) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	err := errRemoved
	if !e.removed {
		err = e.save(s)
	}
	if err != nil {
		return fmt.Errorf("write state of container %s: %w", e.id, err)
	}
	e.state = s
	return nil
}

// save replaces the container's record.
func (e Entry) save(s State) error {
	data, err := encodeRecord(e.order, s)
	if err != nil {
		return err
	}
	if s.State == lifecycle.Terminated {
		return e.saveEnd(data)
	}
	return atomicfile.WriteUnsynced(e.recordFile(), data, 0o600)
}

// endRoom is the space in bytes reserved for a state with its exit message.
const endRoom = 4 << 10

// reserve allocates the space for the record of the exit.
func (e Entry) reserve() error {
	data, err := encodeRecord(e.order, State{State: lifecycle.Terminated})
	if err != nil {
		return err
	}
	return os.WriteFile(e.endFile(), make([]byte, len(data)+endRoom), 0o600)
}

// saveEnd writes the last record of a container into the file that reserve created, and renames it.
// Neither needs space on a full disk, except on copy-on-write file systems (Btrfs, ZFS).
func (e Entry) saveEnd(data []byte) error {
	f, err := os.OpenFile(e.endFile(), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Truncate(int64(len(data))), f.Close()); err != nil {
		return err
	}
	return os.Rename(e.endFile(), e.recordFile())
}

// Journal opens the container's log lines.
func (e Entry) Journal() (*journal.Journal, error) { return journal.Open(e.logFile()) }

// Silenced reports whether a keeper, a process of agents of an earlier version, was ending the
// container because the master did not answer.
func (e Entry) Silenced() bool {
	_, err := os.Lstat(e.silentFile())
	return err == nil
}

// Remove deletes the container's files. The journal must be closed.
func (e Entry) Remove() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.removeFiles(); err != nil {
		return fmt.Errorf("remove files of container %s: %w", e.id, err)
	}
	e.removed = true
	e.disk.mu.Lock()
	defer e.disk.mu.Unlock()
	delete(e.disk.items, e.id)
	return nil
}

// removeFiles deletes the record first, so that the next agent sweeps the remaining files of an
// interrupted removal.
func (e Entry) removeFiles() error {
	for _, name := range []string{e.recordFile(), e.endFile(), e.silentFile(), e.logFile()} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
