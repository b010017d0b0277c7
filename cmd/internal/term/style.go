package term

// Style is how a text looks on a terminal that has colours. It never says what the
// words do not.
type Style string

// The styles.
const (
	Bold  Style = "\x1b[1m"
	Faint Style = "\x1b[2m"
	Red   Style = "\x1b[31m"
	Green Style = "\x1b[32m"
	// Reversed marks the selected line.
	Reversed Style = "\x1b[7m"
)

// Paint returns text in a style.
func (s Style) Paint(text string) string { return string(s) + text + colourEnd }
