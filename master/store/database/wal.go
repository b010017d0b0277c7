package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"
)

// readersWait limits the time for which writes wait for readers while the write-ahead log is
// truncated.
const readersWait = time.Second

// WALBytes returns the size of the write-ahead log of a writable file, or 0 if there is no log.
func (d *Database) WALBytes() int64 {
	if d.path == "" {
		return 0
	}
	info, err := os.Stat(d.path + "-wal")
	if err != nil {
		return 0 // the first write creates it
	}
	return info.Size()
}

// EmptyWAL writes the write-ahead log to the file and truncates it. It must be called on the write
// connection outside a transaction. It waits up to a second for readers, and reports false if one is
// still active.
func (d *Database) EmptyWAL(ctx context.Context, conn *sql.Conn) (done bool, err error) {
	if err := setBusyTimeout(ctx, conn, readersWait); err != nil {
		return false, err
	}
	var busy, pages, moved int
	err = conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved)
	if err = errors.Join(err, setBusyTimeout(ctx, conn, busyTimeout)); err != nil {
		return false, fmt.Errorf("empty the write-ahead log: %w", err)
	}
	return busy == 0, nil
}

func setBusyTimeout(ctx context.Context, conn *sql.Conn, limit time.Duration) error {
	_, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", limit.Milliseconds()))
	return err
}
