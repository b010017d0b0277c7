package store

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"testing"
)

// FuzzRestore reads what follows the compression, with a checksum that fits, because
// no fuzzer guesses one.
func FuzzRestore(f *testing.F) {
	var rows bytes.Buffer
	w := newFrameWriter(&rows)
	w.writeBytes([]byte(`{"schema":1,"cluster_id":"c"}`))
	w.writeRow(1, backupTables()[0], []field{{bytes: []byte("k")}, {bytes: []byte("id")}, {}, {number: -7}, {bytes: []byte("{}")}})
	w.writeRow(3, backupTables()[2], []field{{bytes: []byte("t")}, {bytes: []byte("c")}, {number: 1 << 60}})
	w.buf = binary.AppendUvarint([]byte{0}, 2)
	w.flushFrame()
	f.Add(rows.Bytes())
	f.Add([]byte{1, '{', 1, 0xff, 0xff, 0xff, 0xff, 0x3f})
	f.Fuzz(func(t *testing.T, body []byte) {
		file := bytes.NewBufferString(backupMagic)
		sum := sha256.Sum256(body)
		zip := gzip.NewWriter(file)
		if _, err := zip.Write(append(bytes.Clone(body), sum[:]...)); err != nil || zip.Close() != nil {
			t.Fatal(err)
		}
		r, _, err := openBackup(file)
		if err == nil {
			err = r.readRows(func(tb table, fields []field) error {
				if len(tb.rowValues(fields)) != len(tb.columns) {
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
