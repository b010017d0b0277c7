package term

import "github.com/pterm/pterm"

// Style is a text style on color terminals. Text must be understandable without it.
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

// Paint returns text in a style. Streams decides whether to use colors; Paint overrides the decision that
// pterm makes from the environment of the process.
func (s Style) Paint(text string) string {
	pterm.EnableColor()
	return pterm.Color(s).Sprint(text)
}
