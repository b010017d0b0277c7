// Package journal ships the machine's journal to the log service of its cloud, where it remains
// available after the machine is deleted. The journal itself is the buffer: entries that were not
// shipped are read again.
package journal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/internal/atomicfile"
	"github.com/det-deploy/det-deploy/internal/wait"
)

const (
	// linger is the maximum delay for batching lines. An account is limited to five calls per
	// second, which all its machines share.
	linger = 5 * time.Second
	// maxBatchLines is the maximum number of lines per batch.
	maxBatchLines = 20_000
	// The pause after an error grows from firstPause to lastPause.
	firstPause, lastPause = 5 * time.Second, 5 * time.Minute
	// maxLine is the maximum length of a journal line in bytes.
	maxLine = 4 << 20
)

// Sink stores log events.
type Sink interface {
	// Put appends events to a stream. It creates the stream if it does not exist.
	Put(ctx context.Context, stream string, events []Event) error
}

// Config configures a Shipper.
type Config struct {
	// Instance is the instance ID, the prefix of all stream names.
	Instance string
	Sink     Sink
	// Open follows the journal after a cursor, or from the start of the current boot if the cursor
	// is empty.
	Open func(ctx context.Context, cursor string) (io.ReadCloser, error)
	// CursorFile stores the cursor of the last shipped entry.
	CursorFile string
	Log        *slog.Logger
}

// Shipper ships the journal of one machine.
type Shipper struct {
	Config

	cursor  string // cursor of the last shipped entry
	reached string // cursor of the last read entry
	waiting []entry
	refused bool // whether the current failure is already logged
}

// New returns a shipper that continues after the last shipped entry.
func New(c Config) (*Shipper, error) {
	data, err := os.ReadFile(c.CursorFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the journal cursor: %w", err)
	}
	return &Shipper{Config: c, cursor: strings.TrimSpace(string(data))}, nil
}

// Run ships entries until ctx is done, and then the entries read so far.
func (s *Shipper) Run(ctx context.Context) error {
	pause := firstPause
	for ctx.Err() == nil {
		read, err := s.followJournal(ctx)
		if ctx.Err() != nil {
			break
		}
		if read > 0 {
			pause = firstPause
		}
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		s.Log.Warn("journalctl exited; restarting it", "err", err)
		if read == 0 && s.cursor != "" {
			// The entry of the cursor was deleted from the journal.
			s.cursor = ""
		}
		_ = wait.For(ctx, pause) // the loop checks ctx
		pause = min(lastPause, 2*pause)
	}
	// Unsent entries would be read again after a restart, but a machine that is being deleted has
	// no other chance to send them.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), linger)
	defer cancel()
	if err := s.sendPending(last); err != nil {
		s.Log.Warn("the last journal entries were not shipped", "lines", len(s.waiting), "err", err)
	}
	return nil
}

// followJournal ships entries until the journal ends. It returns the number of entries read.
func (s *Shipper) followJournal(ctx context.Context) (read int, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s.waiting, s.reached = nil, s.cursor
	r, err := s.Open(ctx, s.cursor)
	if err != nil {
		return 0, fmt.Errorf("open the journal: %w", err)
	}
	lines := make(chan entry)
	ended := make(chan error, 1)
	go func() {
		ended <- s.readEntries(ctx, r, lines)
		close(lines)
	}()
	defer func() {
		stop()
		err = errors.Join(err, r.Close())
		for range lines { // wait until journalctl exits
		}
	}()
	tick := time.NewTicker(linger)
	defer tick.Stop()
	for {
		full := len(s.waiting) >= maxBatchLines
		if !full {
			select {
			case <-ctx.Done():
				return read, nil
			case e, open := <-lines:
				if !open {
					s.retrySend(ctx)
					return read, <-ended
				}
				read++
				s.waiting, s.reached = append(s.waiting, e), e.cursor
				continue
			case <-tick.C:
			}
		}
		s.retrySend(ctx)
	}
}

func (s *Shipper) readEntries(ctx context.Context, r io.Reader, to chan<- entry) error {
	scan := bufio.NewScanner(r)
	scan.Buffer(make([]byte, 64<<10), maxLine)
	for scan.Scan() {
		e, err := parseEntry(scan.Bytes(), s.Instance)
		if err != nil {
			s.Log.Debug("cannot parse a journal entry", "err", err)
			continue
		}
		select {
		case to <- e:
		case <-ctx.Done():
			return nil
		}
	}
	return scan.Err()
}

// retrySend sends the pending entries and retries after errors. No entries are read meanwhile.
func (s *Shipper) retrySend(ctx context.Context) {
	pause := firstPause
	for ctx.Err() == nil {
		err := s.sendPending(ctx)
		if err == nil {
			if s.refused {
				s.Log.Info("shipping the journal again")
			}
			s.refused = false
			return
		}
		if !s.refused && ctx.Err() == nil {
			s.Log.Warn("cannot ship the journal; retrying", "err", err)
			s.refused = true
		}
		_ = wait.For(ctx, pause) // the loop checks ctx
		pause = min(lastPause, 2*pause)
	}
}

// sendPending sends the pending entries and stores the cursor.
func (s *Shipper) sendPending(ctx context.Context) error {
	if s.cursor == s.reached {
		return nil
	}
	streams := map[string][]Event{}
	for _, e := range s.waiting {
		streams[e.stream] = append(streams[e.stream], e.event)
	}
	for _, stream := range slices.Sorted(maps.Keys(streams)) {
		for _, batch := range Split(streams[stream]) {
			if err := s.Sink.Put(ctx, stream, batch); err != nil {
				return err
			}
		}
		// A later stream may fail, and these entries must not be sent twice.
		s.waiting = slices.DeleteFunc(s.waiting, func(e entry) bool { return e.stream == stream })
	}
	s.cursor = s.reached
	return s.saveCursor()
}

func (s *Shipper) saveCursor() error {
	if err := os.MkdirAll(filepath.Dir(s.CursorFile), 0o755); err != nil {
		return fmt.Errorf("store the journal cursor: %w", err)
	}
	if err := atomicfile.Write(s.CursorFile, []byte(s.cursor+"\n"), 0o600); err != nil {
		return fmt.Errorf("store the journal cursor: %w", err)
	}
	return nil
}
