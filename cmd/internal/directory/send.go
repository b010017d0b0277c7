package directory

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Master receives directories.
type Master interface {
	// AnnounceContext sends the list of a directory's files, and returns the pieces to send.
	AnnounceContext(ctx context.Context, files []*apiv1.ContextFile) (*apiv1.PostContextResponse, error)
	// SendPieces sends pieces in a gzipped tar. It may be repeated.
	SendPieces(ctx context.Context, id string, packed []byte) error
}

// Tell reports the progress of reading or sending.
type Tell struct{ Read, Sent func(done, total int64) }

// Send sends the pieces of the files that the master does not have, and returns the ID of the context.
func (d *Directory) Send(ctx context.Context, m Master, l *apiv1.GetContextLimitsResponse, tell Tell) (id string, err error) {
	if err := d.checkLimits(l); err != nil {
		return "", err
	}
	files, err := d.hashFiles(ctx, int(l.GetPieceBytes()), func(read int64) { tell.Read(read, d.Bytes) })
	if err != nil {
		return "", err
	}
	answer, err := m.AnnounceContext(ctx, files)
	if err != nil {
		return "", err
	}
	s := &sender{d: d, m: m, id: answer.GetContextId(), missing: map[string]bool{}, tell: tell.Sent}
	for _, h := range answer.GetMissing() {
		s.missing[string(h)] = true
	}
	return s.id, s.sendMissing(ctx, files, int(l.GetPieceBytes()))
}

// A request has at most packBytes of content, so that the progress moves on a slow network, and packPieces.
const (
	packBytes  = 4 << 20
	packPieces = 500
)

// sender sends the missing pieces of a directory.
type sender struct {
	d       *Directory
	m       Master
	id      string
	missing map[string]bool
	tell    func(done, total int64)

	done, total int64
	// packed is the next request, with a content of size bytes in a number of pieces.
	packed bytes.Buffer
	zip    *gzip.Writer
	tar    *tar.Writer
	size   int64
	pieces int
}

func (s *sender) sendMissing(ctx context.Context, files []*apiv1.ContextFile, pieceBytes int) error {
	s.total = s.countMissing(files, int64(pieceBytes))
	if s.total > 0 {
		s.tell(0, s.total)
	}
	piece := make([]byte, pieceBytes)
	for i, f := range files {
		if !s.needs(f) {
			continue
		}
		err := s.d.readPieces(s.d.Files[i], piece, func(b []byte) error { return s.addPiece(ctx, b) })
		if err != nil {
			return err
		}
	}
	if err := s.flush(ctx); err != nil {
		return err
	}
	if len(s.missing) > 0 {
		return errors.New("files have changed while they were sent; try again")
	}
	return nil
}

// countMissing returns the size of the missing pieces in bytes.
func (s *sender) countMissing(files []*apiv1.ContextFile, pieceBytes int64) (total int64) {
	seen := map[string]bool{}
	for _, f := range files {
		for i, h := range f.GetPieces() {
			if k := string(h); s.missing[k] && !seen[k] {
				seen[k] = true
				total += min(f.GetSize()-int64(i)*pieceBytes, pieceBytes)
			}
		}
	}
	return total
}

func (s *sender) needs(f *apiv1.ContextFile) bool {
	for _, h := range f.GetPieces() {
		if s.missing[string(h)] {
			return true
		}
	}
	return false
}

// addPiece adds a piece to the next request if it is missing.
func (s *sender) addPiece(ctx context.Context, b []byte) error {
	h := sha256.Sum256(b)
	if !s.missing[string(h[:])] {
		return nil
	}
	delete(s.missing, string(h[:]))
	if s.tar == nil {
		var err error
		if s.zip, err = gzip.NewWriterLevel(&s.packed, gzip.BestSpeed); err != nil {
			return err
		}
		s.tar = tar.NewWriter(s.zip)
	}
	err := s.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: hex.EncodeToString(h[:]), Size: int64(len(b)), Mode: 0o600})
	if err == nil {
		_, err = s.tar.Write(b)
	}
	if err != nil {
		return fmt.Errorf("pack files: %w", err)
	}
	s.size, s.pieces = s.size+int64(len(b)), s.pieces+1
	if s.size >= packBytes || s.pieces >= packPieces {
		return s.flush(ctx)
	}
	return nil
}

// flush sends the next request.
func (s *sender) flush(ctx context.Context) error {
	if s.tar == nil {
		return nil
	}
	if err := errors.Join(s.tar.Close(), s.zip.Close()); err != nil {
		return fmt.Errorf("pack files: %w", err)
	}
	if err := s.m.SendPieces(ctx, s.id, s.packed.Bytes()); err != nil {
		return err
	}
	s.done += s.size
	s.tell(s.done, s.total)
	s.packed.Reset()
	s.tar, s.zip, s.size, s.pieces = nil, nil, 0, 0
	return nil
}
