package term

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// PrintForeign writes the output of a task or another program, after a prefix that identifies its source.
// On a terminal, the text may contain color sequences only: other control characters, which could move the
// cursor, clear the screen or fake input, are printed as escapes. Colors are reset at the end of a line,
// and of a line that overwrites itself, such as a progress bar, the final state is printed. To other
// outputs, the text is written unchanged.
func (s *Streams) PrintForeign(head, text string) error {
	return printForeign(s.Out, head, text, s.outTerminal, s.colourOut())
}

// PrintForeignErr is PrintForeign for what a program wrote to its stderr. It writes to Err.
func (s *Streams) PrintForeignErr(head, text string) error {
	return printForeign(s.Err, head, text, s.errTerminal, s.colourErr())
}

func printForeign(to io.Writer, head, text string, terminal, colours bool) error {
	if terminal {
		head, text = tame(head, colours), tame(lastWritten(text), colours)
	}
	if _, err := io.WriteString(to, head+text); err != nil {
		return fmt.Errorf("cannot print the log: %w", err)
	}
	return nil
}

// Harmless returns a line of another program that is safe to display, without colors.
func Harmless(line string) string {
	return strings.ReplaceAll(tame(strings.TrimSuffix(lastWritten(line), "\n"), false), "\t", "    ")
}

// lastWritten returns the visible part of a line with carriage returns.
func lastWritten(line string) string {
	text, ended := strings.CutSuffix(line, "\n")
	text = strings.TrimRight(text, "\r")
	text = text[strings.LastIndex(text, "\r")+1:]
	if ended {
		text += "\n"
	}
	return text
}

const colourEnd = "\x1b[0m"

// colour matches a sequence that changes only colors and text attributes.
var colour = regexp.MustCompile(`^\x1b\[[0-9;:]*m`)

// tame escapes the control characters of a text for a terminal.
func tame(text string, colours bool) string {
	var b strings.Builder
	coloured := false
	for text != "" {
		if c := colour.FindString(text); c != "" {
			text = text[len(c):]
			if colours {
				b.WriteString(c)
				coloured = true
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		if r == '\n' && coloured {
			b.WriteString(colourEnd)
			coloured = false
		}
		b.WriteString(visible(r))
	}
	if coloured {
		b.WriteString(colourEnd)
	}
	return b.String()
}

// visible returns a character, or its escape if a terminal would interpret it.
func visible(r rune) string {
	if r == '\n' || r == '\t' || !isObeyed(r) {
		return string(r)
	}
	return strings.Trim(strconv.QuoteRuneToASCII(r), "'")
}

// isObeyed reports whether terminals interpret a character: a control character or one that changes the
// writing direction.
func isObeyed(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}
