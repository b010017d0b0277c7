package log

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// A chunk's data is a version byte and a body:
//
//	1  body
//	2  body, deflated
//
// A body is a sequence of records that can be appended without decoding the others:
//
//	0x80           who: agent, source, stdtype (each uvarint length, bytes), uvarint rank+1
//	0x00 | level   line: varint microseconds since 1970, uvarint length, text
//	0x20 | level   the same, partial
//	0x40 | level   a line of earlier versions: the continuation of the line before
const (
	versionPlain    = 1
	versionDeflated = 2

	recordWho      = 0x80
	bitPartial     = 0x20
	bitContinued   = 0x40
	maskLevel      = 0x0f
	bodyLimit      = 4 << 20 // limits decoded bodies; far above any encoded one
	deflateAtBytes = 4 << 10 // smaller bodies are not deflated, because they are likely to be extended
)

var errChunk = errors.New("the chunk is damaged")

// levelCodes returns the levels by code. The codes are stored, so that new levels must be appended.
func levelCodes() []Level {
	return []Level{Unspecified, Trace, Debug, Info, Warning, Error, Critical}
}

// who holds the fields that consecutive lines share.
type who struct {
	agent, source, stdtype string
	rank                   int // -1 if unknown
}

// appendWho and appendLine append a record to a body.
func appendWho(b []byte, w who) []byte {
	b = append(b, recordWho)
	for _, s := range []string{w.agent, w.source, w.stdtype} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return binary.AppendUvarint(b, uint64(w.rank+1))
}

func appendLine(b []byte, l Line) []byte {
	code := byte(max(slices.Index(levelCodes(), l.Level), 0))
	if l.Partial {
		code |= bitPartial
	}
	b = append(b, code)
	b = binary.AppendVarint(b, l.At.UnixMicro())
	b = binary.AppendUvarint(b, uint64(len(l.Text)))
	return append(b, l.Text...)
}

// sealChunk encodes a body. It deflates a large body if that makes it smaller.
func sealChunk(body []byte) []byte {
	plain := append([]byte{versionPlain}, body...)
	if len(body) < deflateAtBytes {
		return plain
	}
	var b bytes.Buffer
	b.WriteByte(versionDeflated)
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		return plain // cannot fail for a valid level
	}
	if _, err := w.Write(body); err != nil || w.Close() != nil || b.Len() >= len(plain) {
		return plain // writing to a buffer cannot fail
	}
	return b.Bytes()
}

// unsealChunk returns the body of a chunk's data, or an error if the data is damaged.
func unsealChunk(data []byte) ([]byte, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("%w: it is empty", errChunk)
	}
	switch data[0] {
	case versionPlain:
		return data[1:], nil
	case versionDeflated:
		body, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(data[1:])), bodyLimit+1))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errChunk, err)
		}
		if len(body) > bodyLimit {
			return nil, fmt.Errorf("%w: it inflates beyond %d bytes", errChunk, bodyLimit)
		}
		return body, nil
	}
	return nil, fmt.Errorf("%w: its version %d is newer than this program", errChunk, data[0])
}

// decodeChunk returns the lines of a chunk. The entries lack the fields that are columns of the
// chunk. It returns an error if the data is damaged.
func decodeChunk(data []byte) ([]Entry, error) {
	body, err := unsealChunk(data)
	if err != nil {
		return nil, err
	}
	d := decoder{rest: body, who: who{rank: -1}}
	var entries []Entry
	for len(d.rest) > 0 {
		if e, isLine := d.readRecord(); isLine {
			entries = append(entries, e)
		}
		if d.bad {
			return nil, fmt.Errorf("%w: it ends inside a record or has an unknown one", errChunk)
		}
	}
	return entries, nil
}

type decoder struct {
	rest []byte
	who  who
	bad  bool
}

func (d *decoder) readRecord() (e Entry, isLine bool) {
	code := d.rest[0]
	d.rest = d.rest[1:]
	if code == recordWho {
		d.who = who{agent: d.readText(), source: d.readText(), stdtype: d.readText(), rank: int(d.readUvarint()) - 1}
		return e, false
	}
	level := int(code & maskLevel)
	if code&^(bitPartial|bitContinued|maskLevel) != 0 || level >= len(levelCodes()) {
		d.bad = true
		return e, false
	}
	e.At = time.UnixMicro(d.readVarint()).UTC()
	e.Text = d.readText()
	e.Level, e.Partial = levelCodes()[level], code&bitPartial != 0
	e.Agent, e.Source, e.Stdtype = d.who.agent, d.who.source, d.who.stdtype
	if d.who.rank >= 0 {
		rank := d.who.rank
		e.Rank = &rank
	}
	return e, !d.bad
}

func (d *decoder) readUvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	return d.skipBytes(v, n)
}

func (d *decoder) readVarint() int64 {
	v, n := binary.Varint(d.rest)
	d.skipBytes(0, n)
	return v
}

func (d *decoder) skipBytes(v uint64, n int) uint64 {
	if n <= 0 {
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) readText() string {
	n := d.readUvarint()
	if d.bad || n > uint64(len(d.rest)) {
		d.bad, d.rest = true, nil
		return ""
	}
	s := string(d.rest[:n])
	d.rest = d.rest[n:]
	return s
}
