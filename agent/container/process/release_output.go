package process

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
)

const (
	// tailKept is how much of a file stays behind the reader, for people to look at.
	tailKept = 16 << 20
	// releaseStep is how much is given back at a time.
	releaseStep = 4 << 20
	// lagMost is how far a task may be ahead of the reader, and lagLeft how far it is
	// when the rest was passed over.
	lagMost = 512 << 20
	lagLeft = 16 << 20
)

// releaseFile punches a hole where the emitted lines were: the journal has them on disk. A
// file system without holes keeps them.
func (t *tail) releaseFile() {
	t.out.releaseRead(t.next.Stdout)
	t.err.releaseRead(t.next.Stderr)
}

func (s *stream) releaseRead(emitted int64) {
	to := (emitted - tailKept) / releaseStep * releaseStep
	if to <= s.freed {
		return
	}
	_ = unix.Fallocate(int(s.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, to) // see release
	s.freed = to
}

// catchUp passes over what a task wrote that writes faster than it can be read, and
// returns a line that says so. What was there when reading began, while no agent ran,
// says nothing of that; and nothing comes after the end.
func (t *tail) catchUp(s *stream) ([]container.Line, error) {
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
	text := fmt.Appendf(nil, "%d bytes of output were dropped: they came faster than they can be read", to-*at)
	*at, s.at, s.split = to, to, container.Splitter{}
	t.next.Lines++
	return []container.Line{{At: time.Now(), Stream: s.name, Text: text, Next: t.next}}, nil
}

// streamPosition is how far the stream was emitted.
func (t *tail) streamPosition(s *stream) *int64 {
	if s.name == container.Stdout {
		return &t.next.Stdout
	}
	return &t.next.Stderr
}
