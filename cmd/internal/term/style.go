package term

import "github.com/pterm/pterm"

// Style is how a text looks on a terminal that has colours. It never says what the
// words do not.
type Style pterm.Color

// The styles.
const (
	Bold  = Style(pterm.Bold)
	Faint = Style(pterm.Fuzzy)
	Red   = Style(pterm.FgRed)
	Green = Style(pterm.FgGreen)
	// Reversed marks the selected line.
	Reversed = Style(pterm.Reverse)
)

// Paint returns text in a style. Whether a stream is coloured is its Streams' decision;
// pterm's own, made once for the process from its environment, is overruled.
func (s Style) Paint(text string) string {
	pterm.EnableColor()
	return pterm.Color(s).Sprint(text)
}
