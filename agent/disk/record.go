package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// A record is, little endian:
//
//	 0  length of what follows the checksum   4
//	 4  kind                                  1
//	 5  zero                                  3
//	 8  CRC-32C of kind and what follows      4
//	12  length of the container's id          2
//	14  id, and then the text
//
// The checksum of an erased record does not count.
const recordHead = 12

// kind is what a record says of a container.
type kind byte

const (
	// orderKind is an order as the master sent it: the container begins with it.
	orderKind kind = 1
	// trimmedKind is an order without its secrets, in the place of the whole one.
	trimmedKind kind = 2
	// stateKind is how far the container got, as JSON.
	stateKind kind = 3
	// erasedKind is a record that no longer holds. An order that is erased with no trimmed
	// one behind it is a container that was removed.
	erasedKind kind = 4
)

type record struct {
	kind kind
	id   string
	text []byte
}

func appendRecord(b []byte, r record) []byte {
	start := len(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(2+len(r.id)+len(r.text)))
	b = append(b, byte(r.kind), 0, 0, 0, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(r.id)))
	b = append(b, r.id...)
	b = append(b, r.text...)
	binary.LittleEndian.PutUint32(b[start+8:], recordChecksum(r.kind, b[start+recordHead:]))
	return b
}

func recordChecksum(k kind, body []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum([]byte{byte(k)}, table), table, body)
}

// errCutShort means that nothing that was written whole follows: an agent that was killed
// left part of a record, or a machine that failed left zeros.
var errCutShort = errors.New("the record is cut short")

// errDamaged is a record that is not as it was written.
var errDamaged = errors.New("its checksum is wrong")

// errLater is a record that is as it was written, by a later version.
var errLater = errors.New("it is of a kind that this version does not know")

// parseRecord reads the record at the start of data, of n bytes; 0 where its length is not known.
func parseRecord(data []byte) (r record, n int, err error) {
	if len(data) < recordHead {
		return record{}, 0, errCutShort
	}
	size := int(binary.LittleEndian.Uint32(data))
	if n = recordHead + size; binary.LittleEndian.Uint64(data) == 0 || len(data) < n {
		if hasRecord(data[1:]) {
			return record{}, 0, errDamaged
		}
		return record{}, 0, errCutShort
	}
	body := data[recordHead:n]
	r.kind = kind(data[4])
	if r.kind == erasedKind {
		return r, n, nil
	}
	if recordChecksum(r.kind, body) != binary.LittleEndian.Uint32(data[8:]) {
		if len(bytes.TrimRight(data, "\x00")) < n { // the rest of it was never written
			return record{}, 0, errCutShort
		}
		if !beginsWhole(data[n:]) {
			n = 0
		}
		return record{}, n, errDamaged
	}
	if r.kind < orderKind || r.kind > stateKind {
		return record{}, 0, fmt.Errorf("kind %d: %w", r.kind, errLater)
	}
	if !isRecord(data) {
		return record{}, 0, errDamaged
	}
	idSize := int(binary.LittleEndian.Uint16(body))
	r.id, r.text = string(body[2:2+idSize]), body[2+idSize:]
	return r, n, nil
}

// beginsWhole says that data is what may stand behind a record whose length is right.
func beginsWhole(data []byte) bool {
	if len(data) < recordHead {
		return len(data) == 0
	}
	unwritten := binary.LittleEndian.Uint64(data) == 0
	erased := kind(data[4]) == erasedKind && data[5]|data[6]|data[7] == 0
	return unwritten || erased || isRecord(data)
}

// isRecord says that a record that is whole stands at the start of data.
func isRecord(data []byte) bool {
	if len(data) < recordHead+2 {
		return false
	}
	k, size := kind(data[4]), int(binary.LittleEndian.Uint32(data))
	if k < orderKind || k > stateKind || size < 2 || size > len(data)-recordHead {
		return false
	}
	body := data[recordHead : recordHead+size]
	return 2+int(binary.LittleEndian.Uint16(body)) <= size && recordChecksum(k, body) == binary.LittleEndian.Uint32(data[8:])
}

// hasRecord says that a record that is whole stands anywhere in data. What it is does not count:
// an order contains what users write.
func hasRecord(data []byte) bool {
	for at := range data {
		if isRecord(data[at:]) {
			return true
		}
	}
	return false
}
