package process

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
)

const (
	// tailKept is the number of bytes before the reading position that are kept for inspection.
	tailKept = 16 << 20
	// releaseStep is the number of bytes released at a time.
	releaseStep = 4 << 20
	// If a task is more than lagMost bytes ahead of the reader, the reader skips to lagLeft bytes
	// before the end.
	lagMost = 512 << 20
	lagLeft = 16 << 20
)

// releaseFile punches a hole over the emitted lines, which are in the journal on disk. File systems
// without support for holes keep the space allocated.
func (t *tail) releaseFile() {
	t.out.releaseRead(t.next.Stdout)
	t.err.releaseRead(t.next.Stderr)
}

func (s *source) releaseRead(emitted int64) {
	to := (emitted - tailKept) / releaseStep * releaseStep
	if to <= s.freed {
		return
	}
	_ = unix.Fallocate(int(s.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, to) // see releaseFile
	s.freed = to
}

// catchUp skips output of a task that writes faster than it can be read, and returns a line with
// the number of skipped bytes. Output that was written before reading began, while no agent ran,
// does not count as lag; neither does output after the exit.
func (t *tail) catchUp(s *source) ([]container.Line, error) {
	if t.final {
		return nil, nil
	}
	info, err := s.file.Stat()
	if err != nil {
		return nil, err
	}
	at := t.streamPosition(s)
	if info.Size()-max(*at, s.found) <= lagMost {
		return nil, nil
	}
	to := info.Size() - lagLeft
	text := fmt.Appendf(nil, "%d bytes of output were dropped because the task writes faster than its output can be read", to-*at)
	*at, s.at, s.split = to, to, container.Splitter{}
	t.next.Lines++
	return []container.Line{{At: time.Now(), Stream: s.name, Text: text, Next: t.next}}, nil
}

// streamPosition returns the position up to which the stream was emitted.
func (t *tail) streamPosition(s *source) *int64 {
	if s.name == container.Stdout {
		return &t.next.Stdout
	}
	return &t.next.Stderr
}
