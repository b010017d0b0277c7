package archive

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"strings"
)

// Reader reads a backup and verifies its checksum. Every error it returns is ErrDamaged.
type Reader struct {
	r      *bufio.Reader
	hash   hash.Hash
	tables []Table
}

// Open reads the header. Every error it returns is ErrDamaged.
func Open(r io.Reader) (*Reader, Header, error) {
	var head Header
	buffered := bufio.NewReaderSize(r, 1<<20)
	line := make([]byte, len(magic))
	if _, err := io.ReadFull(buffered, line); err != nil || string(line) != magic {
		return nil, head, damagedError(err, "the first line is not %q", strings.TrimSpace(magic))
	}
	zip, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, head, damagedError(err, "no gzip stream")
	}
	a := &Reader{r: bufio.NewReader(zip), hash: sha256.New()}
	b, err := a.readBytes()
	if err != nil {
		return nil, head, damagedError(err, "no header")
	}
	err = json.Unmarshal(b, &head)
	if err != nil || head.Schema < 1 || head.ClusterID == "" || CheckText("cluster id", head.ClusterID) != nil {
		return nil, head, damagedError(err, "invalid header")
	}
	a.tables = Tables(head.Schema)
	return a, head, nil
}

// ReadRows reads all rows and verifies the end of the file. If each returns an error, it still reads
// to the end: a modified byte may make two rows equal, and then the file is at fault instead of the
// database.
func (a *Reader) ReadRows(each func(Table, []Field) error) error {
	var refused error
	for n := uint64(0); ; n++ {
		number, err := a.ReadByte()
		switch {
		case err != nil:
			return damagedError(err, "no end marker")
		case number == 0:
			return cmp.Or(a.checkEnd(n), refused)
		case int(number) > len(a.tables):
			return damagedError(nil, "unknown table %d", number)
		}
		t := a.tables[number-1]
		fields, err := a.readFields(t)
		if err != nil {
			return err
		}
		if refused == nil {
			refused = each(t, fields)
		}
	}
}

// ReadByte implements io.ByteReader for the varints.
func (a *Reader) ReadByte() (byte, error) {
	b, err := a.r.ReadByte()
	if err == nil {
		a.hash.Write([]byte{b}) // a hash never returns an error
	}
	return b, err
}

func (a *Reader) readBytes() ([]byte, error) {
	n, err := binary.ReadUvarint(a)
	if err != nil || n > fieldLimit {
		return nil, damagedError(err, "invalid length %d", n)
	}
	// Grow while reading, so that a wrong length causes an error instead of a large allocation.
	var b bytes.Buffer
	if _, err := io.CopyN(io.MultiWriter(&b, a.hash), a.r, int64(n)); err != nil {
		return nil, damagedError(err, "%d bytes are missing", n)
	}
	return b.Bytes(), nil
}

func (a *Reader) readFields(t Table) ([]Field, error) {
	fields := make([]Field, len(t.Columns))
	for i, c := range t.Columns {
		var err error
		if c.Type == Int {
			fields[i].Number, err = binary.ReadVarint(a)
		} else {
			fields[i].Bytes, err = a.readBytes()
		}
		if err == nil && c.Type == Text {
			err = CheckText(c.Name, string(fields[i].Bytes))
		}
		if err != nil {
			return nil, damagedError(err, "invalid value of %s.%s", t.Name, c.Name)
		}
	}
	return fields, nil
}

// checkEnd verifies the number of rows, the checksum and the end of the file.
func (a *Reader) checkEnd(rows uint64) error {
	n, err := binary.ReadUvarint(a)
	if err != nil || n != rows {
		return damagedError(err, "%d rows instead of %d", rows, n)
	}
	want := a.hash.Sum(nil)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(a.r, got); err != nil || !bytes.Equal(got, want) {
		return damagedError(err, "checksum mismatch")
	}
	if _, err := a.r.ReadByte(); !errors.Is(err, io.EOF) {
		return damagedError(err, "data after the end")
	}
	return nil
}
