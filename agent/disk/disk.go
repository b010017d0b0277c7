// Package disk is what an agent must still know after it was killed: which
// containers it was told to run, how far each got, how it ended, and the log
// lines that the master does not have yet.
//
//	<data_dir>/containers/<id>/start    the order, written before it is confirmed, and
//	                                    what a restarted agent needs of it afterwards
//	                           state    how far the container got
//	                           silent   there when a keeper ends it because the master
//	                                    does not answer
//	                           log      the journal of its lines
package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/agent/journal"
	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/atomicfile"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// Disk is the directory of all containers.
type Disk struct{ dir string }

// Entry is the directory of one.
type Entry struct{ dir string }

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

// Open makes the directory. Other users may not read it: orders hold the
// tokens of tasks.
func Open(dataDir string) (Disk, error) {
	dir := filepath.Join(dataDir, "containers")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Disk{}, fmt.Errorf("make the directory of containers: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return Disk{}, fmt.Errorf("close the directory of containers to others: %w", err)
	}
	return Disk{dir: dir}, nil
}

// Add writes an order down. One that is there already is left as it is, and
// added is false.
func (d Disk) Add(s *agentv1.Start) (e Entry, added bool, err error) {
	id := s.GetContainerId()
	if id == "" || id == "." || id == ".." || strings.ContainsAny(id, "/\x00") {
		return Entry{}, false, fmt.Errorf("container id %q: must be a plain name", id)
	}
	e = Entry{dir: filepath.Join(d.dir, id)}
	if err := os.Mkdir(e.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return e, false, fmt.Errorf("write order for container %s: %w", id, err)
	}
	if _, err := os.Stat(e.filePath("start")); err == nil {
		return e, false, nil
	}
	data, err := proto.Marshal(s)
	if err != nil {
		return e, false, fmt.Errorf("write order for container %s: %w", id, err)
	}
	if err := e.replaceFile("start", data); err != nil {
		return e, false, fmt.Errorf("write order for container %s: %w", id, err)
	}
	return e, true, nil
}

// Entries lists the containers. A directory without an order is one that was
// never confirmed, or is half removed; one with an empty file was written shortly
// before the machine itself failed, and its container is gone. Both go.
func (d Disk) Entries() ([]Entry, error) {
	names, err := os.ReadDir(d.dir)
	if err != nil {
		return nil, fmt.Errorf("list containers on disk: %w", err)
	}
	var out []Entry
	for _, n := range names {
		e := Entry{dir: filepath.Join(d.dir, n.Name())}
		if e.cutShort() {
			if err := os.RemoveAll(e.dir); err != nil {
				return nil, fmt.Errorf("remove what is left of container %s: %w", n.Name(), err)
			}
			continue
		}
		out = append(out, e)
	}
	return out, nil
}

func (e Entry) cutShort() bool {
	start, err := os.Stat(e.filePath("start"))
	if errors.Is(err, fs.ErrNotExist) || err == nil && start.Size() == 0 {
		return true
	}
	state, err := os.Stat(e.filePath("state"))
	return err == nil && state.Size() == 0
}

// fixHint is what to do about a file of the entry that is damaged.
func (e Entry) fixHint() string {
	return "remove the directory " + e.dir + ": the container is then reported as lost"
}

// ID is the container's.
func (e Entry) ID() string { return filepath.Base(e.dir) }

// Start reads the order.
func (e Entry) Start() (*agentv1.Start, error) {
	data, err := os.ReadFile(e.filePath("start"))
	if err != nil {
		return nil, fmt.Errorf("read order: %w", err)
	}
	var s agentv1.Start
	if err := proto.Unmarshal(data, &s); err != nil {
		return nil, &atomicfile.DamagedError{Path: e.filePath("start"), Err: fmt.Errorf("it is no order of a container: %w", err), Fix: e.fixHint()}
	}
	return &s, nil
}

// Trim leaves of an order what an agent needs that finds its container started or ended:
// which one it is, and whether it ends when the master does not answer. Tokens, passwords, variables and files are gone from the disk.
func (e Entry) Trim(s *agentv1.Start) error {
	data, err := proto.Marshal(&agentv1.Start{
		ContainerId: s.GetContainerId(), AllocationId: s.GetAllocationId(), TaskId: s.GetTaskId(),
		DeviceIds: s.GetDeviceIds(), Rank: s.GetRank(), Rerun: s.GetRerun(),
		Spec: &agentv1.Spec{Description: s.GetSpec().GetDescription(), TaskType: s.GetSpec().GetTaskType()},
	})
	if err != nil {
		return fmt.Errorf("trim order of container %s: %w", e.ID(), err)
	}
	if err := e.replaceFile("start", data); err != nil {
		return fmt.Errorf("trim order of container %s: %w", e.ID(), err)
	}
	return nil
}

// State reads how far the container got; one of which nothing is written is
// ASSIGNED.
func (e Entry) State() (State, error) {
	var s State
	err := atomicfile.ReadJSON(e.filePath("state"), e.fixHint(), &s)
	if errors.Is(err, fs.ErrNotExist) {
		return State{State: lifecycle.Assigned}, nil
	}
	return s, err
}

// SetState writes how far the container got.
func (e Entry) SetState(s State) error {
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write state of container %s: %w", e.ID(), err)
	}
	if err := e.replaceFile("state", data); err != nil {
		return fmt.Errorf("write state of container %s: %w", e.ID(), err)
	}
	return nil
}

// Journal opens the container's log lines.
func (e Entry) Journal() (*journal.Journal, error) { return journal.Open(e.filePath("log")) }

// Discard removes what is there of an order that is not kept.
func (e Entry) Discard() error {
	if e.dir == "" {
		return nil
	}
	return e.Remove()
}

// Remove forgets the container: the order first, so that what an interrupted
// removal leaves is no container.
func (e Entry) Remove() error {
	if err := os.Remove(e.filePath("start")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget container %s: %w", e.ID(), err)
	}
	if err := os.RemoveAll(e.dir); err != nil {
		return fmt.Errorf("forget container %s: %w", e.ID(), err)
	}
	return nil
}

func (e Entry) filePath(name string) string { return filepath.Join(e.dir, name) }

// replaceFile writes a file so that it is there whole or as before, whenever the
// agent is killed. It does not wait for the medium: after the machine itself
// has failed its containers are gone as well, and the agent reports that.
func (e Entry) replaceFile(name string, data []byte) error {
	return atomicfile.WriteUnsynced(e.filePath(name), data, 0o600)
}
