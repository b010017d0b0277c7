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

// PrintForeign writes to the answer what a task or another program has said, behind
// a head that tells who. On a terminal it may colour itself and no more: whatever
// would move the cursor, clear the screen or answer in the reader's name is shown
// instead, colours end with the line, and a line that writes over itself, as bars of
// progress do, shows what is there in the end. Others get all of it as it is.
func (s *Streams) PrintForeign(head, text string) error {
	if s.outTerminal {
		head, text = tame(head, s.colourOut()), tame(lastWritten(text), s.colourOut())
	}
	if _, err := io.WriteString(s.Out, head+text); err != nil {
		return fmt.Errorf("print the log: %w", err)
	}
	return nil
}

// Harmless is a line of another program as a screen may show it, without colours.
func Harmless(line string) string {
	return strings.ReplaceAll(tame(strings.TrimSuffix(lastWritten(line), "\n"), false), "\t", "    ")
}

// lastWritten is what a line shows that goes back to its beginning.
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

// colour is a sequence that changes colours and weights, and nothing else.
var colour = regexp.MustCompile(`^\x1b\[[0-9;:]*m`)

// tame makes a text harmless for a terminal.
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

// visible is a character, or its number where a terminal would obey it.
func visible(r rune) string {
	if r == '\n' || r == '\t' || !isObeyed(r) {
		return string(r)
	}
	return strings.Trim(strconv.QuoteRuneToASCII(r), "'")
}

// isObeyed reports the characters that terminals act upon: control characters, and
// those that turn the direction of writing.
func isObeyed(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}
