package store

import (
	"context"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// roomNeeded is how much of its disk a file needs free to count as writable: a small
// write may fit into what the write-ahead log has already, the next task's files
// do not.
const roomNeeded = 16 << 20

// Probe writes what changes nothing, as durably as any write, and returns why that
// is impossible. While the database hangs it hangs too.
func (s *Store) Probe(ctx context.Context) error {
	if s.cfg.URL == "" {
		var fs unix.Statfs_t
		if err := unix.Statfs(filepath.Dir(s.cfg.Path), &fs); err != nil {
			return fmt.Errorf("look for room for %s: %w", s.cfg.Path, err)
		}
		if free := fs.Bavail * uint64(fs.Bsize); free < roomNeeded {
			return fmt.Errorf("the disk of %s is full: %d MiB are free, %d are needed", s.cfg.Path, free>>20, roomNeeded>>20)
		}
	}
	return s.Write(ctx, func(*Tx) error { return nil })
}
