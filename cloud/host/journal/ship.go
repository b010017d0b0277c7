// Package journal carries this machine's journal to where its cloud keeps logs,
// so that what a machine did can be read when the machine is gone. The journal
// itself is the buffer: what could not be carried yet is read again.
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
	// linger is how long a line may wait for others: five calls a second is
	// what an account has for all its machines together.
	linger = 5 * time.Second
	// atOnce is how many lines are carried at once at most.
	atOnce = 20_000
	// The pause after a refusal grows from the one to the other.
	firstPause, lastPause = 5 * time.Second, 5 * time.Minute
	// maxLine is how much of one line of the journal is read.
	maxLine = 4 << 20
)

// Sink is where logs are kept.
type Sink interface {
	// Put appends events to a stream, and creates the stream if it does not exist.
	Put(ctx context.Context, stream string, events []Event) error
}

// Config is what a Shipper needs.
type Config struct {
	// Instance is this machine, which begins the name of each of its streams.
	Instance string
	Sink     Sink
	// Open follows the journal from after a cursor, or from this boot's
	// beginning without one.
	Open func(ctx context.Context, cursor string) (io.ReadCloser, error)
	// CursorFile remembers how far the journal was carried.
	CursorFile string
	Log        *slog.Logger
}

// Shipper carries the journal of one machine.
type Shipper struct {
	Config

	cursor  string // how far the journal was carried
	reached string // how far it was read
	waiting []entry
	refused bool // that this was already said
}

// New returns a shipper that continues where the last one stopped.
func New(c Config) (*Shipper, error) {
	data, err := os.ReadFile(c.CursorFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read how far the journal was carried: %w", err)
	}
	return &Shipper{Config: c, cursor: strings.TrimSpace(string(data))}, nil
}

// Run carries until ctx is done, and then what has been read so far.
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
		s.Log.Warn("the journal ended, reading it again", "err", err)
		if read == 0 && s.cursor != "" {
			// What the cursor stands for was removed from the journal.
			s.cursor = ""
		}
		_ = wait.For(ctx, pause) // the loop looks at ctx
		pause = min(lastPause, 2*pause)
	}
	// What was read and not carried is read again, but a machine that is being
	// removed has no other time.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), linger)
	defer cancel()
	if err := s.sendPending(last); err != nil {
		s.Log.Warn("the last lines of the journal were not carried", "lines", len(s.waiting), "err", err)
	}
	return nil
}

// followJournal ships entries until the journal ends, and says how much of it it read.
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
		for range lines { // wait for its end
		}
	}()
	tick := time.NewTicker(linger)
	defer tick.Stop()
	for {
		full := len(s.waiting) >= atOnce
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
			s.Log.Debug("a line of the journal cannot be read", "err", err)
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

// retrySend sends what waits, as often as it takes. Meanwhile nothing more is
// read.
func (s *Shipper) retrySend(ctx context.Context) {
	pause := firstPause
	for ctx.Err() == nil {
		err := s.sendPending(ctx)
		if err == nil {
			if s.refused {
				s.Log.Info("the journal is carried again")
			}
			s.refused = false
			return
		}
		if !s.refused && ctx.Err() == nil {
			s.Log.Warn("the journal cannot be carried; retrying", "err", err)
			s.refused = true
		}
		_ = wait.For(ctx, pause) // the loop looks at ctx
		pause = min(lastPause, 2*pause)
	}
}

// sendPending sends what waits and stores the cursor.
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
		// What follows may be refused, and this is not to be sent twice.
		s.waiting = slices.DeleteFunc(s.waiting, func(e entry) bool { return e.stream == stream })
	}
	s.cursor = s.reached
	return s.saveCursor()
}

func (s *Shipper) saveCursor() error {
	if err := os.MkdirAll(filepath.Dir(s.CursorFile), 0o755); err != nil {
		return fmt.Errorf("remember how far the journal was carried: %w", err)
	}
	if err := atomicfile.Write(s.CursorFile, []byte(s.cursor+"\n"), 0o600); err != nil {
		return fmt.Errorf("remember how far the journal was carried: %w", err)
	}
	return nil
}
