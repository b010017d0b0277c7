package logs

import (
	"bytes"
	"time"
)

// Mark is a position in a container's log, after the last stored line. Nodes return lines since a
// time in whole seconds, except rotated ones. Therefore a position is a second, and the number of
// lines since then that are stored. It starts one second before the last line, because the two
// streams of a program may be slightly out of order.
type Mark struct {
	// Second is the second of the newest line. Older and Newer count the lines of the previous
	// second, and from Second on.
	Second time.Time `json:"second,omitzero"`
	Older  int64     `json:"older,omitempty"`
	Newer  int64     `json:"newer,omitempty"`
	// First is the time of the first line of Older, Turn that of the first line of Newer, and Last
	// that of the last stored line.
	First time.Time `json:"first,omitzero"`
	Turn  time.Time `json:"turn,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	// Seq is the number of the next line.
	Seq uint64 `json:"seq"`
	// Returns is true if a carriage return ends a line. Older masters treated it as text and
	// numbered lines differently; a log that such a master began keeps that numbering to its end.
	Returns bool `json:"returns,omitempty"`
}

// sinceTime returns the time from which to request lines, or zero for all.
func (m Mark) sinceTime() time.Time {
	if m.Second.IsZero() {
		return time.Time{}
	}
	return m.Second.Add(-time.Second)
}

// storedLines returns the number of stored lines since that time.
func (m Mark) storedLines() int64 { return m.Older + m.Newer }

// advance moves the mark after one line of the node's file, which was stored as a number of pieces.
func (m Mark) advance(at time.Time, pieces int) Mark {
	m.Seq += uint64(pieces) //nolint:gosec // pieces of one line
	second := at.Truncate(time.Second)
	switch {
	case m.storedLines() == 0 || second.Sub(m.Second) > time.Second:
		m.Second, m.Older, m.Newer, m.First, m.Turn = second, 0, 1, at, at
	case second.After(m.Second):
		m.Second, m.Older, m.Newer, m.First, m.Turn = second, m.Newer, 1, m.Turn, at
	case second.Equal(m.Second):
		m.Newer++
	case second.Equal(m.sinceTime()):
		m.Older++
	default:
		return m // not included in a request since then
	}
	m.Last = at
	return m
}

// resumePoint finds a mark in lines that a node returns since mark.sinceTime.
type resumePoint struct {
	mark Mark
	// seen counts the node's lines. rotated is true if they do not begin with the mark's first
	// line, and met if the last stored line was among them.
	seen         int64
	rotated, met bool
	done         bool
	// next and last are the number of the next line in the store and the time of its last line in
	// microseconds, if the store is known to be ahead of the mark.
	next uint64
	last time.Time
}

// findLine reports whether the node's next line is already stored, and, for the first one that is
// not, whether lines before it are missing.
func (s *resumePoint) findLine(at time.Time) (stored, missing bool) {
	if s.done {
		return false, false
	}
	s.seen++
	if s.seen == 1 {
		s.rotated = s.mark.storedLines() > 0 && !at.Equal(s.mark.First)
	}
	if s.rotated {
		if !at.After(s.mark.Last) || !s.last.IsZero() && !at.Truncate(time.Microsecond).After(s.last) {
			s.met = s.met || !at.Before(s.mark.Last)
			return true, false
		}
		s.done = true
		return false, !s.met
	}
	if s.seen <= s.mark.storedLines() {
		return true, false
	}
	s.done = true
	return false, false
}

// splitLine removes the time from a line of the node: RFC 3339 with nanoseconds, and a space. A
// line without a time is all text.
func splitLine(raw []byte) (at time.Time, text []byte) {
	raw = bytes.TrimSuffix(raw, []byte("\n"))
	stamp, rest, found := bytes.Cut(raw, []byte(" "))
	if !found {
		stamp, rest = raw, nil
	}
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if err != nil {
		return time.Time{}, raw
	}
	return at.UTC(), rest
}
