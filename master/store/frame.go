package store

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"
)

// A backup is a line that says so, and a gzip stream of
//
//	header   uvarint length, JSON
//	row      byte table (1...), its columns: int as varint, text and bytes as uvarint length, bytes
//	end      byte 0, uvarint number of rows, SHA-256 of all before it
//
// Nothing in it is a database's own, so either restores what the other wrote.
const (
	backupMagic = "det-deploy backup 1\n"
	// fieldLimit bounds one document; a task's context is at most 128 MiB.
	fieldLimit = 1 << 30
)

// ErrDamaged is returned for a backup that is cut off, changed or none at all.
var ErrDamaged = errors.New("the backup is damaged or not a backup; nothing was restored, use another one")

type backupHeader struct {
	Schema    int64     `json:"schema"`
	ClusterID string    `json:"cluster_id"`
	CreatedAt time.Time `json:"created_at"`
	MadeAt    time.Time `json:"made_at"`
}

type columnType string

const (
	columnText  columnType = "text"
	columnInt   columnType = "int"
	columnBytes columnType = "bytes"
)

type column struct {
	name string
	kind columnType
}

type table struct {
	name    string
	columns []column
}

// backupTables is what a backup holds, in schema version 1. The position of a table
// is its number in the file. The lease is not state but who may change it.
func backupTables() []table {
	return []table{
		{"documents", []column{
			{"kind", columnText}, {"id", columnText}, {"parent", columnText}, {"at", columnInt}, {"doc", columnBytes},
		}},
		{"log_chunks", []column{
			{"task", columnText},
			{"pos", columnInt},
			{"allocation", columnText},
			{"container", columnText},
			{"first_seq", columnInt},
			{"last_seq", columnInt},
			{"from_at", columnInt},
			{"to_at", columnInt},
			{"lines", columnInt},
			{"data", columnBytes},
		}},
		{"log_marks", []column{{"task", columnText}, {"container", columnText}, {"next_seq", columnInt}}},
	}
}

// field is one value of a row; its column says which of the two is meant.
type field struct {
	number int64
	bytes  []byte
}

// frameWriter writes and hashes; the first error stays.
type frameWriter struct {
	w    io.Writer
	hash hash.Hash
	buf  []byte
	err  error
}

func newFrameWriter(w io.Writer) *frameWriter {
	h := sha256.New()
	return &frameWriter{w: io.MultiWriter(w, h), hash: h}
}

func (f *frameWriter) flushFrame() {
	if f.err == nil {
		_, f.err = f.w.Write(f.buf)
	}
	f.buf = f.buf[:0]
}

func (f *frameWriter) writeRow(number int, t table, fields []field) {
	f.buf = append(f.buf, byte(number))
	for i, c := range t.columns {
		if c.kind == columnInt {
			f.buf = binary.AppendVarint(f.buf, fields[i].number)
		} else {
			f.writeBytes(fields[i].bytes)
		}
	}
	f.flushFrame()
}

func (f *frameWriter) writeBytes(b []byte) {
	f.buf = binary.AppendUvarint(f.buf, uint64(len(b)))
	f.buf = append(f.buf, b...)
}

// frameReader reads and hashes. Every error it returns is ErrDamaged.
type frameReader struct {
	r    *bufio.Reader
	hash hash.Hash
}

func newFrameReader(r io.Reader) *frameReader {
	return &frameReader{r: bufio.NewReader(r), hash: sha256.New()}
}

// ReadByte makes it an io.ByteReader for the varints.
func (f *frameReader) ReadByte() (byte, error) {
	b, err := f.r.ReadByte()
	if err == nil {
		f.hash.Write([]byte{b}) // a hash refuses nothing
	}
	return b, err
}

func (f *frameReader) readBytes() ([]byte, error) {
	n, err := binary.ReadUvarint(f)
	if err != nil || n > fieldLimit {
		return nil, damagedError(err, "a length of %d", n)
	}
	// Grown as it is read, so that a wrong length costs an error and not memory.
	var b bytes.Buffer
	if _, err := io.CopyN(io.MultiWriter(&b, f.hash), f.r, int64(n)); err != nil {
		return nil, damagedError(err, "%d bytes that are not there", n)
	}
	return b.Bytes(), nil
}

func (f *frameReader) readFields(t table) ([]field, error) {
	fields := make([]field, len(t.columns))
	for i, c := range t.columns {
		var err error
		if c.kind == columnInt {
			fields[i].number, err = binary.ReadVarint(f)
		} else {
			fields[i].bytes, err = f.readBytes()
		}
		if err == nil && c.kind == columnText {
			err = checkText(c.name, string(fields[i].bytes))
		}
		if err != nil {
			return nil, damagedError(err, "%s.%s", t.name, c.name)
		}
	}
	return fields, nil
}

// checkEnd compares the count and the sum, and that nothing follows.
func (f *frameReader) checkEnd(rows uint64) error {
	n, err := binary.ReadUvarint(f)
	if err != nil || n != rows {
		return damagedError(err, "%d rows where %d are announced", rows, n)
	}
	want := f.hash.Sum(nil)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(f.r, got); err != nil || !bytes.Equal(got, want) {
		return damagedError(err, "a checksum that does not match")
	}
	if _, err := f.r.ReadByte(); !errors.Is(err, io.EOF) {
		return damagedError(err, "more after its end")
	}
	return nil
}

func damagedError(err error, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if errors.Is(err, ErrDamaged) {
		return err
	}
	if err == nil {
		return fmt.Errorf("%w (it holds %s)", ErrDamaged, what)
	}
	return fmt.Errorf("%w (it holds %s): %w", ErrDamaged, what, err)
}
