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
	// at is where the next line begins in buf. Before plain no newline comes from there on, and before
	// unreturned no carriage return: each byte is looked at once, for returns in all of buf at a time.
	at, plain, unreturned int
	// returned says that there is a carriage return at unreturned.
	returned bool
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
		if s.AfterReturn && s.at < len(s.buf) {
			s.AfterReturn = false
			if s.buf[s.at] == '\n' {
				s.skipBytes(1)
			}
		}
		end, next := s.findEnd(final)
		if next == s.at {
			s.compact()
			return Cut{}, false
		}
		last := s.buf[next-1]
		if end == s.at && last == '\r' {
			s.skipBytes(next - s.at)
			continue
		}
		s.AfterReturn = end < next && last == '\r'
		c = Cut{Text: s.buf[s.at:end], Size: s.passed + next - s.at, Newline: end < next && last == '\n'}
		s.at, s.passed = next, 0
		return c, true
	}
}

// findEnd finds where the next line ends and where the one behind it begins, which is where it
// begins itself while that is not known.
func (s *Splitter) findEnd(final bool) (end, next int) {
	limit := min(len(s.buf), s.at+MaxLine+1)
	if s.plain = max(s.plain, s.at); s.plain < limit {
		if i := bytes.IndexByte(s.buf[s.plain:limit], '\n'); i >= 0 {
			s.plain += i
		} else {
			s.plain = limit
		}
	}
	if s.hasReturn(min(s.plain, limit)) {
		end, next = s.unreturned, s.unreturned+1
		if next < len(s.buf) && s.buf[next] == '\n' {
			next++
		}
		return end, next
	}
	switch {
	case s.plain < limit:
		return s.plain, s.plain + 1
	case limit-s.at > MaxLine:
		return s.at + MaxLine, s.at + MaxLine
	case final:
		return limit, limit
	}
	return s.at, s.at
}

// hasReturn says whether a carriage return comes before the place until.
func (s *Splitter) hasReturn(until int) bool {
	if s.NewlinesOnly {
		return false
	}
	if s.unreturned < s.at {
		s.unreturned, s.returned = s.at, false
	}
	if !s.returned && s.unreturned < until {
		i := bytes.IndexByte(s.buf[s.unreturned:], '\r')
		if s.returned = i >= 0; s.returned {
			s.unreturned += i
		} else {
			s.unreturned = len(s.buf)
		}
	}
	return s.returned && s.unreturned < until
}

// skipBytes passes over bytes that belong to no line.
func (s *Splitter) skipBytes(n int) {
	s.passed += n
	s.at += n
}

// compact lets go of the memory of lines that were cut off.
func (s *Splitter) compact() {
	rest := s.buf[s.at:]
	if len(rest) == 0 {
		rest = nil
	} else if s.at > 0 || cap(s.buf) > 4*MaxLine {
		rest = append(make([]byte, 0, len(rest)), rest...)
	}
	s.buf, s.at, s.plain, s.unreturned = rest, 0, max(s.plain-s.at, 0), max(s.unreturned-s.at, 0)
}
