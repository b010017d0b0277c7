package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// roomNeeded is the free disk space below which a file counts as not writable. A small write may
	// still fit into the write-ahead log, but the files of the next task would not.
	roomNeeded = 16 << 20
	// probeSize exceeds a page of the database. The data is incompressible, so that the database
	// must allocate disk space for it.
	probeSize = 64 << 10
)

// probeCollection holds documents that are written and deleted in one transaction.
func probeCollection() Collection[[]byte] { return Collection[[]byte]{Kind: "probe"} }

// Probe performs a durable write without effect. It returns an error if the store cannot write, and
// blocks while the database hangs. After a write has failed on a full disk, it writes data until
// that succeeds, because an empty write needs no space.
func (s *Store) Probe(ctx context.Context) error {
	if s.cfg.URL == "" {
		if err := s.lookForRoom(); err != nil {
			return err
		}
	}
	if !s.full.Load() {
		return s.Write(ctx, func(*Tx) error { return nil })
	}
	err := s.Write(ctx, askForRoom)
	if err == nil {
		s.full.Store(false)
	}
	return err
}

func (s *Store) lookForRoom() error {
	var fs unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(s.cfg.Path), &fs); err != nil {
		return fmt.Errorf("check the free space for %s: %w", s.cfg.Path, err)
	}
	if free := fs.Bavail * uint64(fs.Bsize); free < roomNeeded {
		return fmt.Errorf("the disk of %s is full: %d MiB are free, %d are needed", s.cfg.Path, free>>20, roomNeeded>>20)
	}
	return nil
}

func askForRoom(tx *Tx) error {
	text := make([]byte, probeSize)
	_, _ = rand.Read(text) // never returns an error
	if err := probeCollection().Put(tx, "probe", "", time.Time{}, text); err != nil {
		return err
	}
	return probeCollection().Delete(tx, "probe")
}
