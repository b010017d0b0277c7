package store

import "context"

// mostWAL is the size, in bytes, above which the writer truncates SQLite's write-ahead log: twice
// the size that [database.OpenSQLite] configures. SQLite's automatic checkpoint after a commit never
// waits for readers and stops at the oldest one. If reads always overlap, as with many large ones,
// the log would grow until the disk is full.
const mostWAL = 32 << 20

// boundWAL truncates the write-ahead log between two groups if it is too large. If that fails, it
// retries after the log has grown by the same size.
func (w *writer) boundWAL(ctx context.Context) {
	size := w.db.WALBytes()
	if size < w.nextWAL || w.conn == nil {
		return
	}
	done, err := w.db.EmptyWAL(context.WithoutCancel(ctx), w.conn)
	if err != nil {
		w.discardConnection()
	}
	if w.nextWAL = mostWAL; !done {
		w.nextWAL += size
		w.log.Warn("cannot truncate the store's write-ahead log, because a read has lasted more than a second; retrying when the log has grown",
			"bytes", size, "err", err)
	}
}
