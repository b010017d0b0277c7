package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"
)

// readersWait is how long writes wait for readers while the write-ahead log is emptied.
const readersWait = time.Second

// WALBytes is the size of the write-ahead log beside a file that may be written, 0 where there is none.
func (d *Database) WALBytes() int64 {
	if d.path == "" {
		return 0
	}
	info, err := os.Stat(d.path + "-wal")
	if err != nil {
		return 0 // it is made by the first write
	}
	return info.Size()
}

// EmptyWAL writes the write-ahead log into the file and cuts it, on the connection that writes and in no
// transaction. It waits up to a second for those who read: false says that one still does.
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
