// Package journal stores the log lines of one container on disk until the master acknowledges them.
// Lines are numbered from 0. Each is stored with the position in its source where reading
// continues, so that an agent that was killed neither loses a line nor sends one twice.
package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/agent/container"
)

// Line is a numbered log line.
type Line struct {
	Seq    uint64
	At     time.Time
	Stream string
	Text   []byte
	// Partial marks text without an end, as in container.Line.
	Partial bool
}

// indexStep is the number of lines between entries of the offset index.
const indexStep = 512

// Journal is an open journal. Its methods are safe for concurrent use.
type Journal struct {
	name string

	// mu guards the fields below.
	mu    sync.Mutex
	file  *os.File // nil until the first line
	shut  bool     // closed
	next  uint64
	pos   container.Position
	size  int64
	index []int64 // offsets of the lines whose number is a multiple of indexStep
	first uint64  // number of the first retained line
	freed int64   // bytes before it, most of which were returned to the file system
	buf   []byte
}

// Open opens a journal; the file is created with the first line. If the agent was killed during a
// write, Open truncates the file at the first incomplete record.
func Open(name string) (*Journal, error) {
	j := &Journal{name: name}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return j, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open log journal: %w", err)
	}
	j.file = f
	if err := j.recoverRecords(); err != nil {
		return nil, errors.Join(fmt.Errorf("read log journal: %w", err), f.Close())
	}
	return j, nil
}

// makeFile creates the file if it does not exist. The caller holds mu.
func (j *Journal) makeFile() (err error) {
	if j.shut {
		return os.ErrClosed
	}
	if j.file != nil {
		return nil
	}
	j.file, err = os.OpenFile(j.name, os.O_CREATE|os.O_RDWR, 0o600)
	return err
}

// recoverRecords reads all records up to the first incomplete one.
func (j *Journal) recoverRecords() error {
	if err := j.recoverFirst(); err != nil {
		return err
	}
	r := bufio.NewReaderSize(io.NewSectionReader(j.file, j.size, math.MaxInt64-j.size), 256<<10)
	for {
		rec, n, err := readRecord(r)
		if errors.Is(err, errTorn) || err == nil && rec.line.Seq != j.next {
			return j.file.Truncate(j.size)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		j.countRecord(rec.pos, int64(n))
	}
}

// countRecord adds a record of n bytes to the index and counters.
func (j *Journal) countRecord(pos container.Position, n int64) {
	if j.next%indexStep == 0 {
		j.index = append(j.index, j.size)
	}
	j.next++
	j.pos = pos
	j.size += n
}

// Append appends lines. When it returns, they survive a kill of the agent.
func (j *Journal) Append(lines []container.Line) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.buf = j.buf[:0]
	ends := make([]int, len(lines))
	for i, l := range lines {
		j.buf = appendRecord(j.buf, record{
			line: Line{Seq: j.next + uint64(i), At: l.At, Stream: l.Stream, Text: l.Text, Partial: l.Partial},
			pos:  l.Next,
		})
		ends[i] = len(j.buf)
	}
	if err := j.makeFile(); err != nil {
		return fmt.Errorf("write log journal: %w", err)
	}
	if _, err := j.file.WriteAt(j.buf, j.size); err != nil {
		return fmt.Errorf("write log journal: %w", err)
	}
	from := 0
	for i, l := range lines {
		j.countRecord(l.Next, int64(ends[i]-from))
		from = ends[i]
	}
	if cap(j.buf) > 1<<20 {
		j.buf = nil
	}
	return nil
}

// Note appends a line written by the agent, which does not advance the position in the source.
func (j *Journal) Note(at time.Time, text string) error {
	return j.Append([]container.Line{{
		At: at, Stream: container.Stderr, Text: []byte(text), Next: j.Position(),
	}})
}

// Next returns the number of the next line.
func (j *Journal) Next() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.next
}

// Position returns the position in the source after the last line.
func (j *Journal) Position() container.Position {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.pos
}

// Read returns lines starting at a number, up to size bytes of text but at least one line. At the
// end it returns none. It returns an error if the lines have been released.
func (j *Journal) Read(from uint64, size int) ([]Line, error) {
	start, skipTo, end, ok := j.locateLines(from)
	if !ok {
		return nil, nil
	}
	if from < j.First() {
		return nil, fmt.Errorf("read log journal at line %d: lines before %d were acknowledged and released", from, j.First())
	}
	// Do not buffer more than there is, because most tasks write little.
	r := bufio.NewReaderSize(io.NewSectionReader(j.file, start, end-start), int(min(end-start, 64<<10)))
	var out []Line
	for sum := 0; sum < size; {
		rec, _, err := readRecord(r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read log journal at line %d: %w", skipTo, err)
		}
		if rec.line.Seq >= from {
			out = append(out, rec.line)
			sum += len(rec.line.Text) + lineOverhead
		}
	}
	return out, nil
}

// lineOverhead is the size of a line without its text.
const lineOverhead = 32

func (j *Journal) locateLines(from uint64) (start int64, line uint64, end int64, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if from >= j.next {
		return 0, 0, 0, false
	}
	i := from / indexStep
	return j.index[i], i * indexStep, j.size, true
}

// Close closes the file. Further calls do nothing.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.shut || j.file == nil {
		j.shut = true
		return nil
	}
	j.shut = true
	return j.file.Close()
}
