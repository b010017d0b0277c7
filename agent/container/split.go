package container

import "bytes"

// Splitter cuts a stream into lines, which end in a newline, a carriage return or both. A
// program that overwrites its line, as progress bars do, has printed a line each time. What
// it cuts depends on the bytes alone, never on how they arrive, so that reading again
// from the end of any line gives the same lines.
type Splitter struct {
	// NewlinesOnly takes carriage returns for text.
	NewlinesOnly bool
	// AfterReturn says that the byte before the next was a carriage return: a newline
	// now belongs to it.
	AfterReturn bool

	buf []byte
	// plain and unreturned are how many bytes of buf are known to have no newline and no
	// carriage return: each byte is looked at once.
	plain, unreturned int
	// passed counts bytes that belong to no line; the next line takes them.
	passed int
}

// Write takes the next bytes.
func (s *Splitter) Write(p []byte) { s.buf = append(s.buf, p...) }

// Cut is one line that a Splitter cut off.
type Cut struct {
	// Text is the line without its end, valid until the next Write.
	Text []byte
	// Size is how many bytes it took, its end and what was passed over included.
	Size int
	// Newline says that it ended in a newline, and not in a carriage return, at MaxLine
	// or at the end of the stream.
	Newline bool
}

// Next cuts off one line. With final set a rest without an end is a line too. What a
// carriage return would overwrite before anything was printed is no line.
func (s *Splitter) Next(final bool) (c Cut, ok bool) {
	for {
		if s.AfterReturn && len(s.buf) > 0 {
			s.AfterReturn = false
			if s.buf[0] == '\n' {
				s.skipBytes(1)
			}
		}
		end, size := s.findEnd(final)
		if size == 0 {
			s.compact()
			return Cut{}, false
		}
		last := s.buf[size-1]
		text := s.buf[:end]
		if end == 0 && last == '\r' {
			s.skipBytes(size)
			continue
		}
		s.AfterReturn = end < size && last == '\r'
		c = Cut{Text: text, Size: s.passed + size, Newline: end < size && last == '\n'}
		s.dropBytes(size)
		s.passed = 0
		return c, true
	}
}

// findEnd finds where the next line ends, and how many bytes it takes with its end; none
// while that is not known.
func (s *Splitter) findEnd(final bool) (end, size int) {
	window := s.buf[:min(len(s.buf), MaxLine+1)]
	if i := bytes.IndexByte(window[min(s.plain, len(window)):], '\n'); i >= 0 {
		s.plain += i
		window = window[:s.plain+1]
	} else {
		s.plain = len(window)
	}
	if !s.NewlinesOnly {
		if i := bytes.IndexByte(window[min(s.unreturned, len(window)):], '\r'); i >= 0 {
			s.unreturned += i
			end, size = s.unreturned, s.unreturned+1
			if size < len(s.buf) && s.buf[size] == '\n' {
				size++
			}
			return end, size
		}
		s.unreturned = len(window)
	}
	switch {
	case s.plain < len(window):
		return s.plain, s.plain + 1
	case len(window) > MaxLine:
		return MaxLine, MaxLine
	case final:
		return len(window), len(window)
	}
	return 0, 0
}

// skipBytes passes over bytes that belong to no line.
func (s *Splitter) skipBytes(n int) {
	s.passed += n
	s.dropBytes(n)
}

func (s *Splitter) dropBytes(n int) {
	s.buf = s.buf[n:]
	s.plain, s.unreturned = max(s.plain-n, 0), max(s.unreturned-n, 0)
}

// compact lets go of the memory of lines that were cut off.
func (s *Splitter) compact() {
	if len(s.buf) == 0 {
		s.buf = nil
		return
	}
	if cap(s.buf) > 4*MaxLine {
		s.buf = append(make([]byte, 0, len(s.buf)), s.buf...)
	}
}
