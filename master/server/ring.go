package server

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Ring keeps the latest records of the master's log in memory, for administrators without access to its
// console. It implements slog.Handler and passes all records on.
type Ring struct {
	next slog.Handler
	text slog.Handler // writes attributes to book.buf
	*book
}

// book is the state shared by all handlers derived from a ring.
type book struct {
	mu      sync.Mutex // guards the following fields
	entries []*apiv1.LogEntry
	first   int // the ID of entries[0]
	size    int
	buf     bytes.Buffer
	grown   chan struct{} // closed and replaced with every entry
}

// NewRing returns a Ring that keeps the last size records and passes all on to next.
func NewRing(size int, next slog.Handler) *Ring {
	b := &book{size: size, grown: make(chan struct{})}
	text := slog.NewTextHandler(&b.buf, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
				return slog.Attr{}
			}
			return a
		},
	})
	return &Ring{next: next, text: text, book: b}
}

// Enabled implements slog.Handler. The ring keeps records of level info even if the console does not show
// them.
func (r *Ring) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelInfo || r.next.Enabled(ctx, l)
}

// WithAttrs implements slog.Handler.
func (r *Ring) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Ring{next: r.next.WithAttrs(attrs), text: r.text.WithAttrs(attrs), book: r.book}
}

// WithGroup implements slog.Handler.
func (r *Ring) WithGroup(name string) slog.Handler {
	return &Ring{next: r.next.WithGroup(name), text: r.text.WithGroup(name), book: r.book}
}

// Handle implements slog.Handler.
func (r *Ring) Handle(ctx context.Context, rec slog.Record) error {
	r.keepRecord(ctx, rec)
	if !r.next.Enabled(ctx, rec.Level) {
		return nil
	}
	return r.next.Handle(ctx, rec)
}

func (r *Ring) keepRecord(ctx context.Context, rec slog.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.buf.Reset()
	_ = r.text.Handle(ctx, rec) // writing to a buffer cannot fail
	e := &apiv1.LogEntry{
		Id:        int32(r.first + len(r.entries)),
		Message:   shortened(strings.TrimSpace(rec.Message + " " + r.buf.String())),
		Timestamp: timestamppb.New(rec.Time),
		Level:     levelOf(rec.Level),
	}
	if r.buf.Cap() > 4*entryBytes {
		r.buf = bytes.Buffer{} // do not retain the buffer of a long record
	}
	r.entries = append(r.entries, e)
	if over := len(r.entries) - r.size; over > 0 {
		r.entries = append(r.entries[:0:0], r.entries[over:]...)
		r.first += over
	}
	close(r.grown)
	r.grown = make(chan struct{})
}

// entryBytes is the maximum size of a record. Together with the number of records, it limits the size of
// the ring.
const entryBytes = 4 << 10

func shortened(text string) string {
	if len(text) <= entryBytes {
		return text
	}
	return strings.ToValidUTF8(text[:entryBytes-len("…")-utf8.UTFMax], "") + "…"
}

func levelOf(l slog.Level) apiv1.LogLevel {
	switch {
	case l >= slog.LevelError:
		return apiv1.LogLevel_LOG_LEVEL_ERROR
	case l >= slog.LevelWarn:
		return apiv1.LogLevel_LOG_LEVEL_WARNING
	case l >= slog.LevelInfo:
		return apiv1.LogLevel_LOG_LEVEL_INFO
	}
	return apiv1.LogLevel_LOG_LEVEL_DEBUG
}

// ringQuery selects records: those from the ID offset on or, if offset is negative, the last -offset ones.
type ringQuery struct {
	offset, limit int
	follow        bool
}

// from returns the records from the ID n on, and a channel that is closed when there are more.
func (r *Ring) from(n int) ([]*apiv1.LogEntry, chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n < 0 {
		n = max(r.first+len(r.entries)+n, r.first)
	}
	i := min(max(n-r.first, 0), len(r.entries))
	return append([]*apiv1.LogEntry(nil), r.entries[i:]...), r.grown
}

// endNumber returns the ID of the next record.
func (r *Ring) endNumber() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first + len(r.entries)
}

func (r *Ring) readRecords(ctx context.Context, q ringQuery, send func(*apiv1.LogEntry) error) error {
	next, sent := q.offset, 0
	for {
		entries, grown := r.from(next)
		for _, e := range entries {
			if q.limit > 0 && sent == q.limit {
				return nil
			}
			if err := send(e); err != nil {
				return err
			}
			sent++
			next = int(e.GetId()) + 1
		}
		if !q.follow {
			return nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
