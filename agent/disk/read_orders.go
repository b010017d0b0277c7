package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/internal/atomicfile"
)

// readTries is how often a file is read that its agent is changing meanwhile.
const readTries = 5

// readOrders reads the file and changes nothing; one that is not there is empty. An agent
// that erases a record at this moment makes it look damaged.
func readOrders(dataDir string) (*orders, error) {
	for tries := 1; ; tries++ {
		o := &orders{path: ordersFile(dataDir), items: map[string]*item{}}
		data, err := os.ReadFile(o.path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read orders: %w", err)
		}
		if err := o.parse(data); err != nil {
			return nil, err
		}
		if o.damage == nil || tries == readTries {
			return o, nil
		}
	}
}

// parse takes in all records of a file that can be read. Of one whose length is damaged, it is not
// known where the next begins. The error is of a file that this version must not touch.
func (o *orders) parse(data []byte) error {
	for at := 0; at < len(data); {
		o.size = int64(at)
		r, n, err := parseRecord(data[at:])
		if errors.Is(err, errCutShort) {
			return nil
		}
		if err == nil {
			err = o.apply(r, n)
		}
		if errors.Is(err, errLater) {
			return o.damaged(fmt.Errorf("the record at byte %d: %w", at, err), "install the version again that wrote it, or remove it: the containers in it are then reported as lost")
		}
		if err != nil {
			o.noteDamage(at, n, err)
		}
		if n == 0 {
			return nil
		}
		at += n
		o.size = int64(at)
	}
	return nil
}

func (o *orders) noteDamage(at, n int, err error) {
	rest := ""
	if n == 0 {
		rest = ", and all that follows"
	}
	o.damage = errors.Join(o.damage, o.damaged(
		fmt.Errorf("the record at byte %d%s: %w", at, rest, err),
		"look for a failing disk: containers of which it says nothing any more are reported as lost",
	))
}

// apply takes in the record at the end.
func (o *orders) apply(r record, n int) error {
	it := o.items[r.id]
	switch r.kind {
	case orderKind:
		o.items[r.id] = &item{id: r.id, order: slices.Clone(r.text), state: State{State: lifecycle.Assigned}, at: o.size, size: n}
	case trimmedKind:
		if it == nil { // the whole one was erased already
			it = &item{id: r.id, state: State{State: lifecycle.Assigned}}
			o.items[r.id] = it
		}
		it.order, it.at, it.size, it.trimmed = slices.Clone(r.text), o.size, n, true
		if it.state.State == lifecycle.Assigned { // the state behind it may be cut short
			it.state.State = lifecycle.Running
		}
	case stateKind:
		if it == nil {
			return nil // of a container that was removed, or whose order was trimmed
		}
		var state State
		if err := json.Unmarshal(r.text, &state); err != nil {
			return err
		}
		it.state = state
	case erasedKind:
	}
	return nil
}

func (o *orders) damaged(err error, fix string) error {
	return &atomicfile.DamagedError{Path: o.path, Err: err, Fix: fix}
}
