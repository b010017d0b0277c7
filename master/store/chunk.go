package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"github.com/det-deploy/det-deploy/master/store/archive"
)

// Chunk is a sequence of log lines of one container, stored as one row. Package log defines the
// format of Data.
type Chunk struct {
	Task string
	// Pos is the ID of the first line within the task, from 0.
	Pos        int64
	Allocation string
	Container  string
	// FirstSeq and LastSeq are the container's sequence numbers of the first and the last line, or
	// -1 for lines without sequence numbers.
	FirstSeq, LastSeq int64
	// FromAt and ToAt are the earliest and the latest time of a line, in microseconds.
	FromAt, ToAt int64
	Lines        int64
	Data         []byte
}

// PutChunk writes a chunk and replaces an existing one with the same task and Pos.
func PutChunk(tx *Tx, c Chunk) error {
	err := errors.Join(checkKey("task", c.Task), archive.CheckText("allocation", c.Allocation), archive.CheckText("container", c.Container))
	if err == nil {
		err = tx.execQuery("INSERT INTO log_chunks "+
			"(task, pos, allocation, container, first_seq, last_seq, from_at, to_at, lines, data) "+
			"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (task, pos) DO UPDATE SET "+
			"first_seq = excluded.first_seq, last_seq = excluded.last_seq, from_at = excluded.from_at, "+
			"to_at = excluded.to_at, lines = excluded.lines, data = excluded.data",
			c.Task, c.Pos, c.Allocation, c.Container, c.FirstSeq, c.LastSeq, c.FromAt, c.ToAt, c.Lines, c.Data)
	}
	if err != nil {
		return fmt.Errorf("put log lines of task %q at %d: %w", c.Task, c.Pos, err)
	}
	return nil
}

// SetLogMark sets the next sequence number of a container. It must be called in the transaction that
// writes the lines, so that no line is lost or duplicated.
func SetLogMark(tx *Tx, task, container string, next int64) error {
	err := errors.Join(checkKey("task", task), archive.CheckText("container", container))
	if err == nil {
		err = tx.execQuery("INSERT INTO log_marks (task, container, next_seq) VALUES (?, ?, ?) "+
			"ON CONFLICT (task, container) DO UPDATE SET next_seq = excluded.next_seq", task, container, next)
	}
	if err != nil {
		return fmt.Errorf("mark log of task %q container %q: %w", task, container, err)
	}
	return nil
}

// LogMark returns the next sequence number of a container, which is 0 if the container has no lines.
func LogMark(ctx context.Context, r Reader, task, container string) (next int64, err error) {
	err = r.queryRows(ctx, "SELECT next_seq FROM log_marks WHERE task = ? AND container = ?",
		[]any{task, container}, func(rows *sql.Rows) error { return rows.Scan(&next) })
	if err != nil {
		return 0, fmt.Errorf("read log mark of task %q container %q: %w", task, container, err)
	}
	return next, nil
}

// LogBytes returns the stored size of a task's lines.
func LogBytes(ctx context.Context, r Reader, task string) (n int64, err error) {
	err = r.queryRows(ctx, "SELECT COALESCE(SUM(LENGTH(data)), 0) FROM log_chunks WHERE task = ?",
		[]any{task}, func(rows *sql.Rows) error { return rows.Scan(&n) })
	if err != nil {
		return 0, fmt.Errorf("read the size of the log of task %q: %w", task, err)
	}
	return n, nil
}

// LogBytesByTask returns the stored size of the lines of every task. It scans the whole table.
func LogBytesByTask(ctx context.Context, r Reader) (map[string]int64, error) {
	of := map[string]int64{}
	err := r.queryRows(ctx, "SELECT task, SUM(LENGTH(data)) FROM log_chunks GROUP BY task", nil, func(rows *sql.Rows) error {
		var task string
		var n int64
		err := rows.Scan(&task, &n)
		of[task] = n
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the sizes of all logs: %w", err)
	}
	return of, nil
}

// DeleteLogs deletes a task's lines and marks.
func DeleteLogs(tx *Tx, task string) error {
	for _, query := range []string{"DELETE FROM log_chunks WHERE task = ?", "DELETE FROM log_marks WHERE task = ?"} {
		if err := tx.execQuery(query, task); err != nil {
			return fmt.Errorf("delete log of task %q: %w", task, err)
		}
	}
	return nil
}

const chunkColumns = "SELECT task, pos, allocation, container, first_seq, last_seq, from_at, to_at, lines, data FROM log_chunks "

// ChunkRange selects chunks of one task.
type ChunkRange struct {
	Task string
	// From is the ID of a line. Forwards, the first chunk is the one that contains the line;
	// backwards, the first chunk is the last one that starts at or before the line. Use
	// math.MaxInt64 to read backwards from the end.
	From      int64
	Backwards bool
	// After and Before exclude chunks without a line between these times (exclusive), in
	// microseconds; 0 means no bound.
	After, Before int64
	// Limit is the maximum number of chunks; it must be positive.
	Limit int
}

// Chunks returns a page of chunks in the order of their lines, or in reverse order.
func Chunks(ctx context.Context, r Reader, q ChunkRange) ([]Chunk, error) {
	if q.Limit <= 0 {
		return nil, fmt.Errorf("read log of task %q: limit: must be positive (%d)", q.Task, q.Limit)
	}
	after, before := q.After, q.Before
	if after == 0 {
		after = math.MinInt64
	}
	if before == 0 {
		before = math.MaxInt64
	}
	const within = "to_at > ? AND from_at < ? "
	query := chunkColumns + "WHERE task = ? AND pos >= " +
		"(SELECT COALESCE(MAX(pos), 0) FROM log_chunks WHERE task = ? AND pos <= ?) AND " + within + "ORDER BY pos LIMIT ?"
	args := []any{q.Task, q.Task, q.From, after, before, q.Limit}
	if q.Backwards {
		query = chunkColumns + "WHERE task = ? AND pos <= ? AND " + within + "ORDER BY pos DESC LIMIT ?"
		args = []any{q.Task, q.From, after, before, q.Limit}
	}
	var chunks []Chunk
	err := r.queryRows(ctx, query, args, func(rows *sql.Rows) error {
		var c Chunk
		err := rows.Scan(&c.Task, &c.Pos, &c.Allocation, &c.Container, &c.FirstSeq, &c.LastSeq,
			&c.FromAt, &c.ToAt, &c.Lines, &c.Data)
		chunks = append(chunks, c)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read log of task %q: %w", q.Task, err)
	}
	return chunks, nil
}

// LastChunk returns the last chunk of a task, and false if the task has no lines.
func LastChunk(ctx context.Context, r Reader, task string) (last Chunk, found bool, err error) {
	chunks, err := Chunks(ctx, r, ChunkRange{Task: task, From: math.MaxInt64, Backwards: true, Limit: 1})
	if err != nil || len(chunks) == 0 {
		return last, false, err
	}
	return chunks[0], true, nil
}
