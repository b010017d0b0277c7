package term

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// OutColumns returns the width of the terminal of Out, or 0 if it is none.
func (s *Streams) OutColumns() int {
	columns, _ := s.outSize()
	return columns
}

// WrapText breaks the paragraphs of a text into lines of at most a number of columns. Paragraphs with an indented
// line, such as lists, are kept.
func WrapText(text string, columns int) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if !strings.HasPrefix(p, " ") && !strings.Contains(p, "\n ") {
			paragraphs[i] = ansi.Wordwrap(strings.ReplaceAll(p, "\n", " "), columns, "")
		}
	}
	return strings.Join(paragraphs, "\n\n")
}
