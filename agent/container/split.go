package container

import (
	"bytes"

	"github.com/det-deploy/det-deploy/internal/excerpt"
)

// Splitter splits a stream into lines, which end in a newline, a carriage return or both: each
// update of a progress bar is a line. The result only depends on the bytes and not on how they
// arrive, so that reading from the end of any line yields the same lines.
type Splitter struct {
	// NewlinesOnly treats carriage returns as text.
	NewlinesOnly bool
	// AfterReturn is true if the previous byte was a carriage return, so that a newline now belongs
	// to it.
	AfterReturn bool

	buf []byte
	// at is the start of the next line in buf. There is no newline in buf[at:plain] and no carriage
	// return in buf[at:unreturned], so that each byte is scanned once; the scan for returns covers
	// all of buf.
	at, plain, unreturned int
	// returned reports whether there is a carriage return at unreturned.
	returned bool
	// passed is the number of skipped bytes, which count as part of the next line.
	passed int
}

// Write appends p to the stream.
func (s *Splitter) Write(p []byte) { s.buf = append(s.buf, p...) }

// Cut is a line returned by a Splitter.
type Cut struct {
	// Text is the line without its end, valid until the next Write.
	Text []byte
	// Size is the number of bytes of the line, including its end and skipped bytes.
	Size int
	// Newline reports whether the line ended in a newline, rather than in a carriage return, at
	// MaxLine or at the end of the stream.
	Newline bool
	// Partial reports whether the line was cut at MaxLine or has no end.
	Partial bool
}

// Next returns the next line. With final set, a rest without an end is a line too. Empty text
// before a carriage return is skipped.
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
		c = Cut{Text: s.buf[s.at:end], Size: s.passed + next - s.at, Newline: end < next && last == '\n', Partial: end == next}
		s.at, s.passed = next, 0
		return c, true
	}
}

// findEnd returns the end of the next line and the start of the line after it. If the line is
// incomplete, both are its start.
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
		end = s.at + excerpt.Cut(s.buf[s.at:limit], MaxLine)
		return end, end
	case final:
		return limit, limit
	}
	return s.at, s.at
}

// hasReturn reports whether there is a carriage return before until.
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

// skipBytes skips bytes that belong to no line.
func (s *Splitter) skipBytes(n int) {
	s.passed += n
	s.at += n
}

// compact releases the memory of returned lines.
func (s *Splitter) compact() {
	rest := s.buf[s.at:]
	if len(rest) == 0 {
		rest = nil
	} else if s.at > 0 || cap(s.buf) > 4*MaxLine {
		rest = append(make([]byte, 0, len(rest)), rest...)
	}
	s.buf, s.at, s.plain, s.unreturned = rest, 0, max(s.plain-s.at, 0), max(s.unreturned-s.at, 0)
}
