package log

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/master/store"
)

// Order is the order of lines.
type Order string

// The orders of a query.
const (
	Oldest Order = "oldest" // oldest first; the default
	Newest Order = "newest"
)

// Filter selects lines of one task. A line must match one value of each list; an empty list matches
// all lines.
type Filter struct {
	Task        string
	Allocations []string
	Agents      []string
	Containers  []string
	Ranks       []int // -1 selects lines without a rank
	Sources     []string
	Stdtypes    []string
	Levels      []Level
	// Text reports whether a line's text matches. It may be nil.
	Text func(line string) bool
	// From is the ID of the first line to read.
	From int64
	// To is the ID after that of the last line to read; 0 means no bound.
	To int64
	// Before and After are exclusive bounds; zero means no bound.
	Before, After time.Time
	Limit         int // 0 means no limit
	Order         Order
}

// pageChunks limits the memory of a reader to 16 chunks of 256 KiB. Between pages a reader holds no
// database resources, even if its client is slow.
const pageChunks = 16

// Query yields the existing lines. An error ends the sequence.
func (l *Logs) Query(ctx context.Context, f Filter) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := f.validate(); err != nil {
			yield(Entry{}, err)
			return
		}
		r := reader{store: l.store, filter: f, at: f.From}
		if f.Order == Newest {
			r.at = f.end() - 1
		}
		if err := r.readFrom(ctx, yield); err != nil {
			yield(Entry{}, err)
		}
	}
}

// Follow yields the existing lines and new ones as they are appended. It ends after ended is closed
// and all lines appended before have been read, when ctx is done (with its error), or when the
// caller stops.
func (l *Logs) Follow(ctx context.Context, f Filter, ended <-chan struct{}) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		err := f.validate()
		if err == nil && (f.Limit != 0 || f.Order == Newest) {
			err = errors.New("follow a log: a limit and the order newest are not supported; " +
				"remove them, or do not follow")
		}
		defer l.wakeFollowers(f.Task) // releases the channel; other followers check once more
		r := reader{store: l.store, filter: f, at: f.From}
		last := false
		for err == nil && !r.stopped {
			more := l.nextLines(f.Task) // before reading, so that lines appended meanwhile are not missed
			if err = r.readFrom(ctx, yield); err != nil || last || r.stopped {
				break
			}
			select {
			case <-more:
			case <-ended:
				last = true
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		if err != nil && !r.stopped {
			yield(Entry{}, err)
		}
	}
}

// end returns To, or a number above all IDs.
func (f Filter) end() int64 {
	if f.To == 0 {
		return math.MaxInt64
	}
	return f.To
}

func (f Filter) validate() error {
	switch {
	case f.Task == "":
		return errors.New("read a log: no task given")
	case f.Limit < 0:
		return fmt.Errorf("read log of task %q: limit: must not be negative (%d)", f.Task, f.Limit)
	case f.From < 0:
		return fmt.Errorf("read log of task %q: from: must not be negative (%d)", f.Task, f.From)
	case f.To < 0:
		return fmt.Errorf("read log of task %q: to: must not be negative (%d)", f.Task, f.To)
	case f.Order != "" && f.Order != Oldest && f.Order != Newest:
		return fmt.Errorf("read log of task %q: order: must be oldest or newest (%q)", f.Task, f.Order)
	}
	return nil
}

// matches reports whether an entry matches the filter.
func (f Filter) matches(e Entry) bool {
	rank := -1
	if e.Rank != nil {
		rank = *e.Rank
	}
	return e.ID >= f.From && e.ID < f.end() && allowsValue(f.Allocations, e.Allocation) && allowsValue(f.Agents, e.Agent) && allowsValue(f.Containers, e.Container) &&
		allowsValue(f.Ranks, rank) && allowsValue(f.Sources, e.Source) && allowsValue(f.Stdtypes, e.Stdtype) && allowsValue(f.Levels, e.Level) &&
		(f.Before.IsZero() || e.At.Before(f.Before)) && (f.After.IsZero() || e.At.After(f.After)) &&
		(f.Text == nil || f.Text(e.Text))
}

func allowsValue[T comparable](list []T, v T) bool { return len(list) == 0 || slices.Contains(list, v) }

// reader iterates over a task's chunks. The next call of readFrom continues at its position.
type reader struct {
	store   *store.Store
	filter  Filter
	at      int64 // the next line to read, or the last one if backwards
	given   int
	stopped bool // the caller has stopped
}

// readFrom yields the matching lines from the position to the end.
func (r *reader) readFrom(ctx context.Context, yield func(Entry, error) bool) error {
	q := store.ChunkRange{Task: r.filter.Task, Backwards: r.filter.Order == Newest, Limit: pageChunks}
	if !r.filter.After.IsZero() {
		q.After = r.filter.After.UnixMicro()
	}
	if !r.filter.Before.IsZero() {
		q.Before = r.filter.Before.UnixMicro() + 1 // times have a resolution of one microsecond
	}
	for {
		q.From = r.at
		chunks, err := store.Chunks(ctx, r.store, q)
		if err != nil {
			return err
		}
		for _, c := range chunks {
			if err := r.readChunk(c, yield); err != nil || r.stopped {
				return err
			}
		}
		if len(chunks) < pageChunks || r.at < r.filter.From || r.at >= r.filter.end() {
			return nil
		}
	}
}

func (r *reader) readChunk(c store.Chunk, yield func(Entry, error) bool) error {
	backwards := r.filter.Order == Newest
	if !backwards && c.Pos+c.Lines <= r.at {
		return nil
	}
	entries, err := decodeChunk(c.Data)
	if err == nil && int64(len(entries)) != c.Lines {
		err = fmt.Errorf("%w: it has %d lines instead of %d", errChunk, len(entries), c.Lines)
	}
	if err != nil {
		return fmt.Errorf("read log of task %q at line %d: %w", c.Task, c.Pos, err)
	}
	for i := range entries {
		entries[i].ID = c.Pos + int64(i)
		entries[i].Task, entries[i].Allocation, entries[i].Container = c.Task, c.Allocation, c.Container
	}
	if backwards {
		slices.Reverse(entries)
	}
	for _, e := range entries {
		if !backwards && e.ID < r.at || backwards && e.ID > r.at || !r.filter.matches(e) {
			continue
		}
		r.given++
		if !yield(e, nil) || r.given == r.filter.Limit {
			r.stopped = true
			return nil
		}
	}
	r.at = c.Pos + c.Lines
	if backwards {
		r.at = c.Pos - 1
	}
	return nil
}
