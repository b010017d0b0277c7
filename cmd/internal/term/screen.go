package term

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Screen is a part of the terminal of Out that is drawn again and again.
type Screen struct {
	streams *Streams
	lines   []string
}

// NewScreen returns a screen, or nil if Out must not be drawn on.
func (s *Streams) NewScreen() *Screen {
	if !s.outTerminal || s.dumb || s.isAccessible() {
		return nil
	}
	return &Screen{streams: s}
}

// Draw replaces the lines that were drawn before. Lines that do not fit the terminal are counted in the last.
func (c *Screen) Draw(lines []string) error {
	columns, rows := c.streams.outSize()
	if room := rows - 1; rows > 2 && len(lines) > room {
		lines = append(lines[:room-1:room-1], fmt.Sprintf("… %d more", len(lines)-room+1))
	}
	for i := range lines {
		if columns > 0 {
			lines[i] = ansi.Truncate(lines[i], columns, "…")
		}
	}
	text := eraseLines(c.lines, max(columns, 1)) + strings.Join(lines, "\n") + "\n"
	c.lines = lines
	if _, err := io.WriteString(c.streams.Out, text); err != nil {
		return fmt.Errorf("cannot draw the table: %w", err)
	}
	return nil
}

// AppendTable writes the rows of t to Out in a table format, below those that were written before. Only the
// first part has headings.
func (s *Streams) AppendTable(f Format, t *Table, l Look, first bool) error {
	switch {
	case f == Name:
		return s.PrintNames(t)
	case f == CSV:
		return s.printCSV(t, first)
	case first:
		return s.PrintTableAs(t, l)
	}
	for _, line := range s.TableLines(t, l)[1:] {
		if err := s.printLine([]byte(line)); err != nil {
			return err
		}
	}
	return nil
}
