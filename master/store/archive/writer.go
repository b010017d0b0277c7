package archive

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash"
	"io"
)

// Writer writes a backup with its checksum. After an error all further calls return the same error.
type Writer struct {
	buffered *bufio.Writer
	zip      *gzip.Writer
	hash     hash.Hash
	rows     uint64
	buf      []byte
	err      error
}

// NewWriter writes the header. The backup is complete only after Close has returned nil.
func NewWriter(w io.Writer, head Header) (*Writer, error) {
	if _, err := io.WriteString(w, magic); err != nil {
		return nil, err
	}
	buffered := bufio.NewWriterSize(w, 1<<20)
	zip, err := gzip.NewWriterLevel(buffered, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	a := &Writer{buffered: buffered, zip: zip, hash: sha256.New()}
	a.addBytes(b)
	return a, a.flushBuffer()
}

// WriteRow writes a row of the table with the given number, which starts at 1.
func (a *Writer) WriteRow(number int, t Table, fields []Field) error {
	a.buf = append(a.buf, byte(number))
	for i, c := range t.Columns {
		if c.Type == Int {
			a.buf = binary.AppendVarint(a.buf, fields[i].Number)
		} else {
			a.addBytes(fields[i].Bytes)
		}
	}
	a.rows++
	return a.flushBuffer()
}

// Close writes the end of the backup.
func (a *Writer) Close() error {
	a.buf = binary.AppendUvarint(append(a.buf, 0), a.rows)
	if err := a.flushBuffer(); err != nil {
		return err
	}
	a.buf = a.hash.Sum(a.buf)
	if err := a.flushBuffer(); err != nil {
		return err
	}
	return errors.Join(a.zip.Close(), a.buffered.Flush())
}

func (a *Writer) flushBuffer() error {
	if a.err == nil {
		a.hash.Write(a.buf) // a hash never returns an error
		_, a.err = a.zip.Write(a.buf)
	}
	a.buf = a.buf[:0]
	return a.err
}

func (a *Writer) addBytes(b []byte) {
	a.buf = binary.AppendUvarint(a.buf, uint64(len(b)))
	a.buf = append(a.buf, b...)
}
