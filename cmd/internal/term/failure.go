package term

import "strings"

// PrintError writes what went wrong and what to try next to Err.
func (s *Streams) PrintError(what []string, hint string) {
	label, try := "error:", "try:"
	if s.colourErr() {
		label, try = Red.Paint(label), Bold.Paint(try)
	}
	s.Notef("%s %s", label, strings.Join(what, "\n       "))
	if hint != "" {
		s.Notef("  %s %s", try, hint)
	}
}
