package bundle

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"io"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/store"
)

const (
	// RequestBytes is the maximum size of the pieces in one request.
	RequestBytes = 64 << 20
	// mostPieces is the maximum number of pieces in one request.
	mostPieces = 20_000
	// batchBytes and batchPieces limit a transaction.
	batchBytes  = PieceBytes
	batchPieces = 500
)

// piece is a blob to be stored.
type piece struct {
	hash store.Hash
	data []byte // compressed
}

// AddPieces stores pieces of an announced context, and returns the number of those that were missing.
// They are the files of a gzipped tar, and their names are the pieces' hashes in hex. Others than the
// context's are ignored. An error leaves complete pieces stored; the call may be repeated. Errors have
// the codes InvalidArgument, NotFound and ResourceExhausted.
func (c *Contexts) AddPieces(ctx context.Context, by *apiv1.User, id string, from io.Reader) (stored int, err error) {
	set, err := setOf(by, id)
	if err != nil {
		return 0, err
	}
	var batch []piece
	size := 0
	put := func() error {
		n, err := c.putPieces(ctx, by, set, batch)
		stored, batch, size = stored+n, batch[:0], 0
		return err
	}
	err = readPieces(from, func(p piece) error {
		batch, size = append(batch, p), size+len(p.data)
		if size < batchBytes && len(batch) < batchPieces {
			return nil
		}
		return put()
	})
	if err == nil {
		err = put()
	}
	return stored, err
}

// readPieces calls each with the pieces of an archive.
func readPieces(from io.Reader, each func(piece) error) error {
	zip, err := gzip.NewReader(from)
	if err != nil {
		return brokenPieces(err)
	}
	in := tar.NewReader(io.LimitReader(zip, RequestBytes+mostPieces*2048))
	for range mostPieces {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return brokenPieces(err)
		}
		p, err := readPiece(h, in)
		if err != nil {
			return err
		}
		if err := each(p); err != nil {
			return err
		}
	}
	return status.New(status.InvalidArgument, "the request has %d pieces or more; send smaller requests", mostPieces)
}

func brokenPieces(err error) error {
	return status.New(status.InvalidArgument, "the request is not a gzipped tar of at most %d MiB: %v", RequestBytes>>20, err)
}

func readPiece(h *tar.Header, from io.Reader) (p piece, err error) {
	if h.Typeflag != tar.TypeReg || h.Size > PieceBytes {
		return p, status.New(status.InvalidArgument, "piece %.64q: must be a file of at most %d bytes", h.Name, PieceBytes)
	}
	content := make([]byte, h.Size)
	if _, err := io.ReadFull(from, content); err != nil {
		return p, brokenPieces(err)
	}
	if p.hash = hashOf(content); nameOf(p.hash) != h.Name {
		return p, status.New(status.InvalidArgument, "piece %.64q: its content has another hash; the file may have changed while it was sent; send the context again", h.Name)
	}
	p.data, err = pack(content)
	return p, err
}

// putPieces stores pieces in one transaction.
func (c *Contexts) putPieces(ctx context.Context, by *apiv1.User, set store.BlobSet, batch []piece) (stored int, err error) {
	var size int64
	for _, p := range batch {
		size += int64(len(p.data))
	}
	if err := c.cfg.Quota.Check(userOf(by), size); err != nil {
		return 0, err
	}
	err = c.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		if err := c.renew(ctx, tx, set); err != nil {
			return err
		}
		stored, size = 0, 0
		for _, p := range batch {
			added, err := store.AddBlob(tx, set, p.hash, p.data)
			if err != nil {
				return err
			}
			if added {
				stored, size = stored+1, size+int64(len(p.data))
			}
		}
		c.cfg.Quota.Add(tx, set.Owner, quota.Contexts, size)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return stored, nil
}

// renew sets the time of a context's last call. It returns NotFound if there is no such context.
func (c *Contexts) renew(ctx context.Context, tx *store.Tx, set store.BlobSet) error {
	d, found, err := docs().contexts.Get(ctx, tx, key(set))
	if err != nil {
		return err
	}
	if !found || d.Value.Leaving {
		return gone(set)
	}
	return docs().contexts.SetTime(tx, key(set), c.cfg.Now())
}

func gone(set store.BlobSet) error {
	return status.New(status.NotFound, "context %s is not on the master: contexts that no task uses are deleted after an hour; send it again", nameOf(set.Context)[:8])
}
