package archive

import (
	"fmt"
	"io"
	"iter"
)

// PartBytes is the size of a part of an archive. A part is one document of the store, and one is held in
// memory at a time.
const PartBytes = 512 << 10

// PartID returns the id of a part. Ids sort in the order of the parts.
func PartID(owner string, n int) string { return fmt.Sprintf("%s/%06d", owner, n) }

// Parts is a writer that splits its input into parts and puts each. Flush puts the last one.
type Parts struct {
	Put func(n int, b []byte) error
	// Written is the number of bytes put.
	Written int64

	b []byte
	n int
}

// Write implements io.Writer. It returns the first error of Put.
func (p *Parts) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		k := min(len(rest), PartBytes-len(p.b))
		p.b, rest = append(p.b, rest[:k]...), rest[k:]
		if len(p.b) < PartBytes {
			break
		}
		if err := p.Flush(); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// Flush puts the remaining bytes.
func (p *Parts) Flush() error {
	if len(p.b) == 0 {
		return nil
	}
	err := p.Put(p.n, p.b)
	p.n, p.Written, p.b = p.n+1, p.Written+int64(len(p.b)), p.b[:0]
	return err
}

// ReadParts returns the parts of an archive of size bytes in order. It fails with io.ErrUnexpectedEOF if
// a part is missing.
func ReadParts(size int64, get func(n int) (part []byte, found bool, err error)) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		read := int64(0)
		for n := 0; read < size; n++ {
			part, found, err := get(n)
			if err == nil && !found {
				err = fmt.Errorf("read %d of %d bytes: %w", read, size, io.ErrUnexpectedEOF)
			}
			if read += int64(len(part)); !yield(part, err) || err != nil {
				return
			}
		}
	}
}
