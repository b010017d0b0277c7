package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"iter"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task/archive"
)

// UnknownSize is the size of an archive whose size is not known before it is read.
const UnknownSize = -1

// Archive returns the gzipped tar of a holder's context in parts, and holds one piece in memory at a
// time. Because a gzip stream may consist of several, the pieces are sent as they are stored.
func (c *Contexts) Archive(ctx context.Context, holder string) (iter.Seq2[[]byte, error], error) {
	set, err := c.claimedBy(ctx, holder)
	if err != nil {
		return nil, err
	}
	files, err := c.readList(ctx, key(set))
	if err != nil {
		return nil, err
	}
	return func(yield func([]byte, error) bool) {
		p := &packer{c: c, ctx: ctx, set: set, yield: yield}
		if err := p.packFiles(files); err != nil && !p.stopped {
			yield(nil, err)
		}
	}, nil
}

// packer writes an archive.
type packer struct {
	c     *Contexts
	ctx   context.Context //nolint:containedctx // that of one call of Archive
	set   store.BlobSet
	yield func([]byte, error) bool
	// plain are headers and padding that are not written yet.
	plain   bytes.Buffer
	stopped bool
}

// plainBytes is the size of headers that are written together.
const plainBytes = 64 << 10

func (p *packer) packFiles(files []*apiv1.ContextFile) error {
	names := FilesOf(files)
	for i, f := range files {
		h, err := archive.HeaderOf(names[i], f.GetSize())
		if err == nil && h != nil {
			err = tar.NewWriter(&p.plain).WriteHeader(h)
		}
		if err == nil {
			err = p.packContent(f)
		}
		if err == nil && p.plain.Len() > plainBytes {
			err = p.flush()
		}
		if err != nil {
			return err
		}
	}
	p.plain.Write(make([]byte, 1024)) // the end of an archive
	return p.flush()
}

// packContent writes the content of a file, to whole blocks of 512 bytes.
func (p *packer) packContent(f *apiv1.ContextFile) error {
	var size int64
	for _, h := range f.GetPieces() {
		if err := p.flush(); err != nil {
			return err
		}
		data, err := p.c.readBlob(p.ctx, p.set.Owner, store.Hash(h))
		if err != nil {
			return err
		}
		size += unpackedSize(data)
		if err := p.write(data); err != nil {
			return err
		}
	}
	if size != f.GetSize() {
		return fmt.Errorf("file %q of a context has %d bytes, not %d as announced", f.GetPath(), size, f.GetSize())
	}
	p.plain.Write(make([]byte, -size&511))
	return nil
}

// unpackedSize returns the size of a piece, which is at the end of a gzip stream.
func unpackedSize(data []byte) int64 {
	if len(data) < 4 {
		return 0
	}
	return int64(binary.LittleEndian.Uint32(data[len(data)-4:]))
}

func (p *packer) flush() error {
	if p.plain.Len() == 0 {
		return nil
	}
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	_, err := p.plain.WriteTo(zip)
	if err == nil {
		err = zip.Close()
	}
	if err != nil {
		return err
	}
	return p.write(out.Bytes())
}

func (p *packer) write(b []byte) error {
	if !p.yield(b, nil) {
		p.stopped = true
		return context.Canceled
	}
	return p.ctx.Err()
}
