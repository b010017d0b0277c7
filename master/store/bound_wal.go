package store

import "context"

// mostWAL is the size, in bytes, at which the writer empties SQLite's write-ahead log itself: twice what
// [database.OpenSQLite] has it come to. What SQLite does behind each commit never waits for readers, and gets as far as
// the one that began first: where each begins before another has ended, as when many read what is large, the log
// would grow until the disk is full.
const mostWAL = 32 << 20

// boundWAL empties the write-ahead log when it is too large, between two groups. Where it cannot, it tries
// again when the log has grown by as much.
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
		w.log.Warn("the store's write-ahead log cannot be written into its file: something has read for more than a second; it is tried again when the log has grown",
			"bytes", size, "err", err)
	}
}
