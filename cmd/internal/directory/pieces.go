package directory

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// hashFiles returns the files with the hashes of their pieces. It calls tell with the number of bytes
// read.
func (d *Directory) hashFiles(ctx context.Context, pieceBytes int, tell func(read int64)) ([]*apiv1.ContextFile, error) {
	out := make([]*apiv1.ContextFile, len(d.Files))
	piece := make([]byte, pieceBytes)
	var read int64
	for i, f := range d.Files {
		out[i] = &apiv1.ContextFile{Path: f.GetPath(), Type: f.GetType(), Mode: f.GetMode(), Mtime: f.GetMtime()}
		if f.GetType() != tarFile {
			continue
		}
		err := d.readPieces(f, piece, func(b []byte) error {
			h := sha256.Sum256(b)
			out[i].Pieces = append(out[i].Pieces, h[:])
			out[i].Size += int64(len(b))
			read += int64(len(b))
			tell(read)
			return ctx.Err()
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// readPieces calls each with the pieces of a file.
func (d *Directory) readPieces(f *apiv1.File, piece []byte, each func([]byte) error) error {
	in, err := os.Open(d.Path(f))
	if err != nil {
		return err
	}
	for err == nil {
		var n int
		n, err = io.ReadFull(in, piece)
		if errors.Is(err, io.ErrUnexpectedEOF) { // the last piece
			err = nil
		}
		if n > 0 && err == nil {
			err = each(piece[:n])
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, in.Close())
}

// checkLimits returns an error if a master accepts no such directory.
func (d *Directory) checkLimits(l *apiv1.GetContextLimitsResponse) error {
	if n := len(d.Files); n > int(l.GetFiles()) {
		return usage.Errorf("the directory has %d files; the master accepts %d; exclude files in .detignore", n, l.GetFiles())
	}
	if l.GetBytes() > 0 && d.Bytes > l.GetBytes() {
		return usage.Errorf("the directory has %d MB; the master accepts %d MB (security.limits.context_bytes); exclude files in .detignore",
			d.Bytes>>20, l.GetBytes()>>20)
	}
	return nil
}
