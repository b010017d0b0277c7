package journal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"time"

	"github.com/det-deploy/det-deploy/agent/container"
)

// A record is, little endian:
//
//	 0  length of the part after the checksum   4
//	 4  CRC-32C of the part after the checksum  4
//	 8  number of the line                      8
//	16  time, microseconds since 1970           8
//	24  lines, stdout bytes, stderr bytes      24
//	48  stream: 1 stdout, 2 stderr, 3 none;
//	    plus 16 for text without an end         1
//	49  text
//
// If the first record has stream 3, the retained lines begin with its number, at the offset stored
// in the field for stdout bytes.
const (
	prefixSize = 8
	fixedSize  = 41
	// maxRecord limits the allocation for a corrupt length.
	maxRecord = fixedSize + 2*container.MaxLine
)

// skipStream marks a record without a line.
const skipStream = "none"

// partialBit marks text without an end. An older agent takes such a record for one of stdout.
const partialBit = 0x10

// errTorn is returned for an incomplete record.
var errTorn = errors.New("the record is incomplete")

type record struct {
	line Line
	pos  container.Position
}

func appendRecord(b []byte, r record) []byte {
	stream := byte(1)
	switch r.line.Stream {
	case container.Stderr:
		stream = 2
	case skipStream:
		stream = 3
	}
	if r.line.Partial {
		stream |= partialBit
	}
	start := len(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(fixedSize+len(r.line.Text)))
	b = append(b, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, r.line.Seq)
	b = binary.LittleEndian.AppendUint64(b, uint64(r.line.At.UnixMicro()))
	b = binary.LittleEndian.AppendUint64(b, r.pos.Lines)
	b = binary.LittleEndian.AppendUint64(b, uint64(r.pos.Stdout))
	b = binary.LittleEndian.AppendUint64(b, uint64(r.pos.Stderr))
	b = append(b, stream)
	b = append(b, r.line.Text...)
	binary.LittleEndian.PutUint32(b[start+4:], recordChecksum(b[start+prefixSize:]))
	return b
}

func recordChecksum(b []byte) uint32 {
	return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
}

// readRecord reads one record of n bytes. It returns io.EOF between two records and errTorn inside
// one.
func readRecord(r io.Reader) (rec record, n int, err error) {
	var prefix [prefixSize]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return record{}, 0, tornError(err)
	}
	size := binary.LittleEndian.Uint32(prefix[:])
	if size < fixedSize || size > maxRecord {
		return record{}, 0, errTorn
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(r, b); err != nil {
		if errors.Is(err, io.EOF) {
			return record{}, 0, errTorn
		}
		return record{}, 0, tornError(err)
	}
	if recordChecksum(b) != binary.LittleEndian.Uint32(prefix[4:]) {
		return record{}, 0, errTorn
	}
	stream := container.Stdout
	switch b[40] &^ partialBit {
	case 2:
		stream = container.Stderr
	case 3:
		stream = skipStream
	}
	return record{
		line: Line{
			Seq:    binary.LittleEndian.Uint64(b),
			At:     time.UnixMicro(int64(binary.LittleEndian.Uint64(b[8:]))),
			Stream: stream,
			Text:   b[fixedSize:],

			Partial: b[40]&partialBit != 0,
		},
		pos: container.Position{
			Lines:  binary.LittleEndian.Uint64(b[16:]),
			Stdout: int64(binary.LittleEndian.Uint64(b[24:])),
			Stderr: int64(binary.LittleEndian.Uint64(b[32:])),
		},
	}, prefixSize + int(size), nil
}

func tornError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errTorn
	}
	return err
}
