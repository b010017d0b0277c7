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
	// roomNeeded is how much of its disk a file needs free to count as writable: a small
	// write may fit into what the write-ahead log has already, the next task's files
	// do not.
	roomNeeded = 16 << 20
	// probeSize is more than a page of the database, and does not shrink: it needs room
	// that the database has to ask its disk for.
	probeSize = 64 << 10
)

// probeCollection are written and removed in one transaction; there is never one to read.
func probeCollection() Collection[[]byte] { return Collection[[]byte]{Kind: "probe"} }

// Probe writes what changes nothing, as durably as any write, and returns why that
// is impossible. While the database hangs it hangs too. Once a write was refused for
// want of room, it asks for room until there is some: an empty write needs none.
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
		return fmt.Errorf("look for room for %s: %w", s.cfg.Path, err)
	}
	if free := fs.Bavail * uint64(fs.Bsize); free < roomNeeded {
		return fmt.Errorf("the disk of %s is full: %d MiB are free, %d are needed", s.cfg.Path, free>>20, roomNeeded>>20)
	}
	return nil
}

func askForRoom(tx *Tx) error {
	text := make([]byte, probeSize)
	_, _ = rand.Read(text) // it never fails
	if err := probeCollection().Put(tx, "probe", "", time.Time{}, text); err != nil {
		return err
	}
	return probeCollection().Delete(tx, "probe")
}
