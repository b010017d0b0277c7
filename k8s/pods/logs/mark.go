package logs

import (
	"bytes"
	"time"
)

// Mark is a place in a container's log, behind the last line that was stored. A
// node is asked for lines by time, in whole seconds, and has only what it has not
// rotated away; so the place is a second, and how many lines from it on are stored
// already. It is the second before the last line's, because the two streams of a
// program may be written out of order by a hair.
type Mark struct {
	// Second is that of the newest line. Older and Newer count the lines of the
	// second before, and from it on.
	Second time.Time `json:"second,omitzero"`
	Older  int64     `json:"older,omitempty"`
	Newer  int64     `json:"newer,omitempty"`
	// First is the time of the first of all of them, Turn that of the first of
	// Newer, Last that of the last stored line.
	First time.Time `json:"first,omitzero"`
	Turn  time.Time `json:"turn,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	// Seq is the number of the line that follows.
	Seq uint64 `json:"seq"`
	// Returns says that a carriage return ends a line. Masters that took it for text have
	// numbered other lines; a log that such a one began is numbered so to its end.
	Returns bool `json:"returns,omitempty"`
}

// sinceTime is the time from which a node is asked for lines, zero for all.
func (m Mark) sinceTime() time.Time {
	if m.Second.IsZero() {
		return time.Time{}
	}
	return m.Second.Add(-time.Second)
}

// storedLines is how many of the lines from there are stored.
func (m Mark) storedLines() int64 { return m.Older + m.Newer }

// advance moves the mark behind one line of the node's file, stored as pieces lines.
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
		return m // a node that is asked for lines since then leaves this one out
	}
	m.Last = at
	return m
}

// resumePoint finds a mark again in lines that a node sends from mark.since on.
type resumePoint struct {
	mark Mark
	// seen counts the node's lines; rotated says that they do not begin where the
	// mark's do, met that the last stored line was among them.
	seen         int64
	rotated, met bool
	done         bool
	// next and last are the number of the line behind the last stored one and that
	// one's time in microseconds, where the store is known to be beyond the mark.
	next uint64
	last time.Time
}

// findLine reports whether the node's next line is stored already, and, for the first
// that is not, whether lines before it are missing.
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

// splitLine takes the time off a line as the node sends it: RFC 3339 with
// nanoseconds and a space. Without one the line is all text.
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
