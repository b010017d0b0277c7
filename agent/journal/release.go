package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
)

// releaseStep is the minimum number of bytes to release at a time.
const releaseStep = 4 << 20

// First returns the number of the first retained line.
func (j *Journal) First() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.first
}

// Held returns the size of the retained lines in bytes.
func (j *Journal) Held() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.size - j.freed
}

// Release discards lines before next, which the master has acknowledged: once they take at least
// releaseStep bytes, it punches a hole in the file. A record at the start of the file contains the
// offset of the first retained line. File systems without support for holes keep the space
// allocated.
func (j *Journal) Release(next uint64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	i := min(next, j.next) / indexStep
	if i >= uint64(len(j.index)) || j.index[i]-j.freed < releaseStep {
		return nil
	}
	to := j.index[i]
	skip := appendRecord(nil, record{line: Line{Seq: i * indexStep, Stream: skipStream}, pos: container.Position{Stdout: to}})
	if _, err := j.file.WriteAt(skip, 0); err != nil {
		return fmt.Errorf("write log journal: %w", err)
	}
	j.first, j.freed = i*indexStep, to
	// The first block contains the record that was just written.
	err := unix.Fallocate(int(j.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, holeStart, to-holeStart)
	if err != nil && !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("release log lines: %w", err)
	}
	return nil
}

// holeStart is the offset of the hole, after the block of the record that locates the lines.
const holeStart = 64 << 10

// recoverFirst reads the position of the first retained line.
func (j *Journal) recoverFirst() error {
	rec, _, err := readRecord(bufio.NewReader(io.NewSectionReader(j.file, 0, prefixSize+maxRecord)))
	if errors.Is(err, io.EOF) || errors.Is(err, errTorn) {
		return nil // recoverRecords handles it
	}
	if err != nil || rec.line.Stream != skipStream {
		return err
	}
	info, err := j.file.Stat()
	if err != nil {
		return err
	}
	lines, at := rec.line.Seq, rec.pos.Stdout
	if at < releaseStep || at > info.Size() || lines%indexStep != 0 || lines > uint64(at)/(prefixSize+fixedSize) {
		return fmt.Errorf("invalid release record: %d lines end at byte %d of %d", lines, at, info.Size())
	}
	j.first, j.next = lines, lines
	j.freed, j.size = at, at
	j.index = make([]int64, j.first/indexStep)
	return nil
}
