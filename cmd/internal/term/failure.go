package term

import (
	"strings"

	"github.com/pterm/pterm"
)

// PrintError writes what went wrong and what to try next to Err.
func (s *Streams) PrintError(what []string, hint string) {
	label, try := "error:", "try:"
	if s.colourErr() {
		label, try = pterm.Red(label), pterm.Bold.Sprint(try)
	}
	s.Notef("%s %s", label, strings.Join(what, "\n       "))
	if hint != "" {
		s.Notef("  %s %s", try, hint)
	}
}
