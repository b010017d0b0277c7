package archive

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"io"
	"testing"
)

// FuzzRead fuzzes the uncompressed content and adds a matching checksum, because a fuzzer cannot
// guess one.
func FuzzRead(f *testing.F) {
	f.Add(unpackedExample(f))
	f.Add([]byte{1, '{', 1, 0xff, 0xff, 0xff, 0xff, 0x3f})
	f.Fuzz(func(t *testing.T, body []byte) {
		file := bytes.NewBufferString(magic)
		sum := sha256.Sum256(body)
		zip := gzip.NewWriter(file)
		if _, err := zip.Write(append(bytes.Clone(body), sum[:]...)); err != nil || zip.Close() != nil {
			t.Fatal(err)
		}
		r, _, err := Open(file)
		if err == nil {
			err = r.ReadRows(func(table Table, fields []Field) error {
				if len(table.Values(fields)) != len(table.Columns) {
					t.Error("a row without all its columns")
				}
				return nil
			})
		}
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatalf("got %v, want ErrDamaged", err)
		}
	})
}

// unpackedExample returns an uncompressed backup of two rows without its checksum.
func unpackedExample(tb testing.TB) []byte {
	tb.Helper()
	var file bytes.Buffer
	w, err := NewWriter(&file, Header{Schema: 1, ClusterID: "c"})
	if err != nil {
		tb.Fatal(err)
	}
	err = errors.Join(
		w.WriteRow(1, Tables(1)[0], []Field{{Bytes: []byte("k")}, {Bytes: []byte("id")}, {}, {Number: -7}, {Bytes: []byte("{}")}}),
		w.WriteRow(3, Tables(1)[2], []Field{{Bytes: []byte("t")}, {Bytes: []byte("c")}, {Number: 1 << 60}}),
		w.Close(),
	)
	if err != nil {
		tb.Fatal(err)
	}
	zip, err := gzip.NewReader(bytes.NewReader(file.Bytes()[len(magic):]))
	if err != nil {
		tb.Fatal(err)
	}
	body, err := io.ReadAll(zip)
	if err != nil {
		tb.Fatal(err)
	}
	return body[:len(body)-sha256.Size]
}

func TestRowsRoundTrip(t *testing.T) {
	t.Parallel()
	file := bytes.NewBufferString(magic)
	body := unpackedExample(t)
	sum := sha256.Sum256(body)
	zip := gzip.NewWriter(file)
	if _, err := zip.Write(append(body, sum[:]...)); err != nil || zip.Close() != nil {
		t.Fatal(err)
	}
	r, head, err := Open(file)
	if err != nil || head.ClusterID != "c" || head.Schema != 1 {
		t.Fatalf("got %+v, %v", head, err)
	}
	var rows []string
	err = r.ReadRows(func(table Table, fields []Field) error {
		rows = append(rows, table.Name+" "+string(fields[0].Bytes))
		return nil
	})
	if err != nil || len(rows) != 2 || rows[0] != "documents k" || rows[1] != "log_marks t" {
		t.Errorf("got %q, %v", rows, err)
	}
}
