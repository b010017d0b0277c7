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

// parseRecord reads the record at the start of data, of n bytes.
func parseRecord(data []byte) (r record, n int, err error) {
	if len(data) < recordHead || binary.LittleEndian.Uint64(data) == 0 {
		return record{}, 0, errCutShort
	}
	size := int(binary.LittleEndian.Uint32(data))
	if n = recordHead + size; len(data) < n {
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
		return record{}, 0, errors.New("its checksum is wrong")
	}
	idSize := int(binary.LittleEndian.Uint16(body))
	if r.kind < orderKind || r.kind > stateKind || 2+idSize > size {
		return record{}, 0, fmt.Errorf("it is of kind %d, which this version does not know", r.kind)
	}
	r.id, r.text = string(body[2:2+idSize]), body[2+idSize:]
	return r, n, nil
}
