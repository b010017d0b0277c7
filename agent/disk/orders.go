package disk

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/det-deploy/det-deploy/internal/atomicfile"
)

// item is what the file says of one container.
type item struct {
	id    string
	order []byte
	state State
	// at and size are where its order is.
	at   int64
	size int
	// trimmed says that the order has no secrets any more.
	trimmed bool
}

// orders is the file of all orders and states.
type orders struct {
	path  string
	items map[string]*item
	// size is behind the last whole record.
	size int64
	// damage is what could not be read, or nil.
	damage error

	// file is nil for one who only reads, and after a rewrite until it can be opened.
	file *os.File
	// torn says that something may stand behind size.
	torn bool
	buf  []byte
}

func ordersFile(dataDir string) string { return filepath.Join(dataDir, "orders") }

// openOrders is readOrders for the agent itself: what is left is rewritten, without
// what was erased, what was cut short and what is damaged.
func openOrders(dataDir string) (*orders, error) {
	o, err := readOrders(dataDir)
	if err != nil {
		return nil, err
	}
	return o, o.rewrite()
}

// rewrite replaces the file by one with the living alone.
func (o *orders) rewrite() error {
	var data []byte
	live := o.sorted()
	places := make([][2]int, len(live))
	for i, it := range live {
		begin := len(data)
		data = appendRecord(data, it.orderRecord())
		places[i] = [2]int{begin, len(data) - begin}
		state, err := json.Marshal(it.state)
		if err != nil {
			return fmt.Errorf("write orders: %w", err)
		}
		data = appendRecord(data, record{kind: stateKind, id: it.id, text: state})
	}
	if err := atomicfile.WriteUnsynced(o.path, data, 0o600); err != nil {
		return fmt.Errorf("write orders: %w", err)
	}
	if o.file != nil {
		_ = o.file.Close() // it has no name any more
	}
	o.file, o.size, o.torn = nil, int64(len(data)), false
	for i, it := range live {
		it.at, it.size = int64(places[i][0]), places[i][1]
	}
	return o.open()
}

// open opens the file, unless it is. That may fail after a rewrite: nothing is written then
// until it can be opened, and never to a file that has no name any more.
func (o *orders) open() (err error) {
	if o.file == nil {
		o.file, err = os.OpenFile(o.path, os.O_RDWR, 0) // nil where that fails
	}
	return err
}

func (o *orders) close() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}

func (it *item) orderRecord() record {
	r := record{kind: orderKind, id: it.id, text: it.order}
	if it.trimmed {
		r.kind = trimmedKind
	}
	return r
}

// sorted are the items in the order in which they stand.
func (o *orders) sorted() []*item {
	out := make([]*item, 0, len(o.items))
	for _, it := range o.items {
		out = append(out, it)
	}
	slices.SortFunc(out, func(a, b *item) int { return int(a.at - b.at) })
	return out
}

const (
	// rewriteSize is from where on the file is rewritten when rewriteShare of it, at
	// least, is of containers that are gone.
	rewriteSize  = 8 << 20
	rewriteShare = 4
)

func (o *orders) setState(it *item, s State) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if _, _, err := o.append(record{kind: stateKind, id: it.id, text: data}); err != nil {
		return err
	}
	it.state = s
	return nil
}

// trim puts an order without secrets in the place of the whole one. With it comes the
// state: what stands before the first order that counts is of a container that is gone.
func (o *orders) trim(it *item, text []byte, state State) error {
	data, err := json.Marshal(state)
	if err != nil {
		return err
	}
	at, size, err := o.append(record{kind: trimmedKind, id: it.id, text: text}, record{kind: stateKind, id: it.id, text: data})
	if err != nil {
		return err
	}
	it.state = state
	if err := o.erase(it.at, it.size); err != nil {
		return err
	}
	it.order, it.at, it.size, it.trimmed = text, at, size, true
	return nil
}

// append writes records behind the last one, and returns where the first is. When it
// returns they outlive the agent.
func (o *orders) append(all ...record) (at int64, size int, err error) {
	if err := o.open(); err != nil {
		return 0, 0, err
	}
	if o.torn {
		if err := o.file.Truncate(o.size); err != nil {
			return 0, 0, err
		}
		o.torn = false
	}
	o.buf = o.buf[:0]
	for i, r := range all {
		if o.buf = appendRecord(o.buf, r); i == 0 {
			size = len(o.buf)
		}
	}
	if _, err := o.file.WriteAt(o.buf, o.size); err != nil {
		// Part of it may stand there, and a shorter one would not cover it.
		o.torn = true
		return 0, 0, err
	}
	at = o.size
	o.size += int64(len(o.buf))
	return at, size, nil
}

// shrink rewrites the file when it is long and nearly all of it is gone.
func (o *orders) shrink() error {
	if o.size < rewriteSize {
		return nil
	}
	var live int64
	for _, it := range o.items {
		live += int64(it.size)
	}
	if live > o.size/rewriteShare {
		return nil
	}
	return o.rewrite()
}

// erase overwrites an order where it stands, which needs no room on a full disk. The kind comes first:
// an agent that is killed meanwhile has erased it.
func (o *orders) erase(at int64, size int) error {
	if err := o.open(); err != nil {
		return err
	}
	const kindAt = 4
	blank := make([]byte, size-kindAt)
	blank[0] = byte(erasedKind)
	_, err := o.file.WriteAt(blank, at+kindAt)
	return err
}
