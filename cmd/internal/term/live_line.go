package term

import (
	"sync"

	"github.com/charmbracelet/x/ansi"
)

// LiveLine is one line on Err about something that lasts, such as a wait. A capable terminal shows the
// latest text only; elsewhere, each new text is a line.
type LiveLine struct {
	s *Streams

	mu sync.Mutex // guards the following fields
	// text is the last text, and drawn what the terminal shows of it.
	text  string
	drawn []string
}

// NewLiveLine returns an empty line, which replaces the one before. Notes are printed above it.
func (s *Streams) NewLiveLine() *LiveLine {
	s.live = &LiveLine{s: s}
	return s.live
}

// Set shows a text and a detail that changes often, such as an elapsed time, which only a terminal shows.
func (l *LiveLine) Set(text, detail string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	columns, _, ok := l.s.liveSize()
	if !ok {
		if text != l.text {
			l.s.promptLine(text + "\n")
		}
		l.text = text
		return
	}
	if detail != "" {
		detail = " (" + detail + ")"
	}
	line := ansi.Truncate(Harmless(text), max(columns-1-ansi.StringWidth(detail), 1), "…") + detail
	line = ansi.Truncate(line, max(columns-1, 1), "…")
	l.s.promptLine(eraseLines(l.drawn, columns) + line + "\n")
	l.text, l.drawn = text, []string{line}
}

// Clear erases the line from a terminal.
func (l *LiveLine) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if columns, _, ok := l.s.liveSize(); ok {
		l.s.promptLine(eraseLines(l.drawn, columns))
	}
	l.drawn = nil
}

// EraseEcho erases the ^C that a terminal shows where Ctrl-C ends a command.
func (s *Streams) EraseEcho() {
	if s.CanAsk() && s.canMove() {
		s.promptLine("\r" + ansi.EraseLineRight)
	}
}

// Lives reports whether the line is overwritten.
func (l *LiveLine) Lives() bool {
	_, _, ok := l.s.liveSize()
	return ok
}
