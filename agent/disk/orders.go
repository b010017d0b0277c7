package disk

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/internal/atomicfile"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// The previous version stored the orders and states of all containers in one file, which is
// supported for one release. Its records are, little endian:
//
//	 0  length of the part after the checksum  4
//	 4  kind                                   1
//	 5  zero                                   3
//	 8  CRC-32C of kind and the part after     4
//	12  length of the container's id           2
//	14  id, and then the text
const (
	ordersHead   = 12
	orderKind    = 1 // an order as the master sent it
	trimmedKind  = 2 // an order without its secrets, replacing the complete one
	stateKind    = 3 // a State as JSON
	overwritten  = 4 // a record that was removed in place: the rest is zeros
	ordersDamage = "check the disk for errors; containers in the damaged part are reported as lost"
)

func ordersFile(dataDir string) string { return filepath.Join(dataDir, "orders") }

// convertOrders writes records for the containers of the previous version and deletes its file. If
// the agent is killed meanwhile, the next one repeats the conversion.
func (d *Disk) convertOrders(path string) error {
	items, damage, err := readOrders(path)
	if err != nil {
		return err
	}
	d.damage = damage
	for _, it := range items {
		e := Entry{d, it}
		_ = e.reserve() // without the reservation, the exit needs space on the disk
		if err := e.save(it.state); err != nil {
			return fmt.Errorf("convert the order of container %s: %w", it.id, err)
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the orders of the previous version: %w", err)
	}
	return nil
}

// readOrders reads records up to the first incomplete one: if its length may be wrong, the start of
// the next record is unknown. The last write of an agent that was killed is reported as damage too.
func readOrders(path string) (items map[string]*item, damage, err error) {
	rest, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("read the orders of the previous version: %w", err)
	}
	items = map[string]*item{}
	for len(bytes.Trim(rest, "\x00")) > 0 { // a failed machine leaves zeros
		n, err := applyOrder(items, rest)
		if err != nil {
			return items, &atomicfile.DamagedError{Path: path, Err: err, Fix: ordersDamage}, nil
		}
		rest = rest[n:]
	}
	return items, nil, nil
}

var errNotWhole = errors.New("a record and the data after it are damaged")

// applyOrder parses the first record of data, of n bytes, and applies it to items.
func applyOrder(items map[string]*item, data []byte) (n int, err error) {
	if len(data) < ordersHead {
		return 0, errNotWhole
	}
	n = ordersHead + int(binary.LittleEndian.Uint32(data))
	if n > len(data) {
		return 0, errNotWhole
	}
	kind, body := data[4], data[ordersHead:n]
	if kind == overwritten {
		return n, nil
	}
	sum := crc32.Checksum(slices.Concat(data[4:5], body), crc32.MakeTable(crc32.Castagnoli))
	if sum != binary.LittleEndian.Uint32(data[8:]) || len(body) < 2 {
		return 0, errNotWhole
	}
	size := int(binary.LittleEndian.Uint16(body))
	if 2+size > len(body) {
		return 0, errNotWhole
	}
	id, text := string(body[2:2+size]), body[2+size:]
	if !isPlainName(id) {
		return 0, errNotWhole
	}
	switch it := items[id]; {
	case kind == stateKind && it != nil:
		err = json.Unmarshal(text, &it.state)
	case kind == orderKind, kind == trimmedKind:
		// An order is followed by its state, unless the file was truncated.
		it := &item{id: id, order: new(agentv1.Start), state: State{State: lifecycle.Assigned}}
		if kind == trimmedKind {
			it.state.State = lifecycle.Running
		}
		items[id] = it
		err = proto.Unmarshal(text, it.order)
	}
	return n, err
}

// Count returns the number of containers in a data_dir whose exit the master has not acknowledged.
// It is read-only, because an agent may be running, even one of the previous version.
func Count(dataDir string) (int, error) {
	ids, err := listIDs(newDisk(dataDir).dir)
	if err != nil {
		return 0, err
	}
	items, damage, err := readOrders(ordersFile(dataDir))
	if err = errors.Join(damage, err); err != nil {
		return 0, err
	}
	for _, id := range ids {
		items[id] = nil
	}
	return len(items), nil
}
