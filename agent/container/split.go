package container

import "bytes"

// Splitter cuts a stream into lines. What it cuts depends on the bytes
// alone, never on how they arrive, so that reading again from the end of any
// line gives the same lines.
type Splitter struct {
	buf []byte
}

// Write takes the next bytes.
func (s *Splitter) Write(p []byte) { s.buf = append(s.buf, p...) }

// Next cuts off one line; n is how many bytes it took, its newline included.
// With final set a rest without a newline is a line too. The text is valid
// until the next Write.
func (s *Splitter) Next(final bool) (text []byte, n int, ok bool) {
	window := s.buf[:min(len(s.buf), MaxLine+1)]
	switch i := bytes.IndexByte(window, '\n'); {
	case i >= 0:
		text, n = window[:i], i+1
	case len(window) > MaxLine:
		text, n = window[:MaxLine], MaxLine
	case final && len(window) > 0:
		// A rest of MaxLine bytes or fewer.
		text, n = window, len(window)
	default:
		s.compact()
		return nil, 0, false
	}
	s.buf = s.buf[n:]
	return text, n, true
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
