package disk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/internal/atomicfile"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// record describes one container. Its file is a sealed record.
type record struct {
	// Version is the version of the format. An agent rejects a later one.
	Version int `json:"version"`
	// Order is an agentv1.Start. The binary encoding keeps the fields of a master that is newer
	// than this agent.
	Order []byte `json:"order"`
	State State  `json:"state"`
}

const recordVersion = 1

// sealed is a record with its CRC-32, because a failing disk may change the text of an order
// without making it invalid.
type sealed struct {
	CRC32  uint32          `json:"crc32"`
	Record json.RawMessage `json:"record"`
}

// encodeRecord returns the content of a container's file. Containers that are RUNNING or TERMINATED
// are saved without secrets, because a restarted agent does not start them.
func encodeRecord(order *agentv1.Start, s State) ([]byte, error) {
	if s.State == lifecycle.Running || s.State == lifecycle.Terminated {
		order = withoutSecrets(order)
	}
	data, err := proto.Marshal(order)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(record{Version: recordVersion, Order: data, State: s})
	if err != nil {
		return nil, err
	}
	return json.Marshal(sealed{crc32.ChecksumIEEE(text), text})
}

// withoutSecrets returns the part of an order that an agent needs for a container that it does not
// start: its identity, and whether it ends when the master does not answer. It omits tokens,
// passwords, variables and files.
func withoutSecrets(s *agentv1.Start) *agentv1.Start {
	return &agentv1.Start{
		ContainerId: s.GetContainerId(), AllocationId: s.GetAllocationId(), TaskId: s.GetTaskId(),
		DeviceIds: s.GetDeviceIds(), Rank: s.GetRank(), Rerun: s.GetRerun(),
		Spec: &agentv1.Spec{Description: s.GetSpec().GetDescription(), TaskType: s.GetSpec().GetTaskType()},
	}
}

var (
	errBlank    = errors.New("the file is empty")
	errChecksum = errors.New("checksum mismatch")
	errOther    = errors.New("the record belongs to another container")
	errLater    = errors.New("written by a later version")
)

// decodeRecord decodes a record. It returns errBlank for a file that a failing machine left without
// content; its container is lost with the machine.
func decodeRecord(id string, data []byte) (*item, error) {
	if len(bytes.Trim(data, "\x00")) == 0 {
		return nil, errBlank
	}
	var s sealed
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, atomicfile.JSONDamage(data, err)
	}
	if crc32.ChecksumIEEE(s.Record) != s.CRC32 {
		return nil, errChecksum
	}
	var r record
	if err := json.Unmarshal(s.Record, &r); err != nil {
		return nil, atomicfile.JSONDamage(s.Record, err)
	}
	if r.Version > recordVersion {
		return nil, errLater
	}
	var order agentv1.Start
	if err := proto.Unmarshal(r.Order, &order); err != nil {
		return nil, fmt.Errorf("invalid order: %w", err)
	}
	if order.GetContainerId() != id {
		return nil, errOther
	}
	return &item{id: id, order: &order, state: r.State}, nil
}

// listIDs returns the IDs of the containers that have a record.
func listIDs(dir string) (ids []string, err error) {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list containers on disk: %w", err)
	}
	for _, f := range files {
		if id, ok := strings.CutSuffix(f.Name(), recordSuffix); ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
