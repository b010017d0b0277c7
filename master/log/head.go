package log

import (
	"fmt"
	"strconv"
	"strings"
)

// ReadHead removes the rank and the level from the beginning of a line's text, as in "[rank=3]
// WARNING: text", and sets the line's fields. The launchers of the client library write the rank,
// its logger the level. Other lines do not change.
func ReadHead(l Line) Line {
	if rank, rest, ok := cutRank(l.Text); ok {
		l.Rank, l.Text = new(rank), rest
	}
	if level, rest, ok := cutLevel(l.Text); ok {
		l.Level, l.Text = level, rest
	}
	return l
}

// ReadExactHead is ReadHead for heads in exactly the form "[rank=3] WARNING: text", so that rank, level and
// text give the line again.
func ReadExactHead(l Line) Line {
	if rank, rest, ok := cutRank(l.Text); ok && l.Text == fmt.Sprintf("[rank=%d] ", rank)+rest {
		l.Rank, l.Text = new(rank), rest
	}
	if level, rest, ok := cutLevel(l.Text); ok && l.Text == string(level)+": "+rest {
		l.Level, l.Text = level, rest
	}
	return l
}

// cutRank parses "[rank=3]" with optional spaces around it.
func cutRank(text string) (rank int, rest string, ok bool) {
	rest, ok = strings.CutPrefix(strings.TrimPrefix(firstBytes(text), " "), "[rank=")
	if !ok {
		return 0, "", false
	}
	digits, _, ok := strings.Cut(rest, "]")
	n, err := strconv.ParseUint(digits, 10, 31)
	if !ok || err != nil {
		return 0, "", false
	}
	return int(n), strings.TrimPrefix(text[strings.IndexByte(text, ']')+1:], " "), true
}

// cutLevel parses "WARNING:" with optional spaces around it.
func cutLevel(text string) (level Level, rest string, ok bool) {
	word, _, ok := strings.Cut(strings.TrimPrefix(firstBytes(text), " "), ":")
	if !ok {
		return Unspecified, "", false
	}
	switch Level(word) {
	case Debug, Info, Warning, Error, Critical:
		return Level(word), strings.TrimPrefix(text[strings.IndexByte(text, ':')+1:], " "), true
	case Unspecified, Trace: // the library has no such level, so that the word belongs to the text
	}
	return Unspecified, "", false
}

// headBytes exceeds the length of any head.
const headBytes = 32

// firstBytes limits the search for a head in long lines.
func firstBytes(text string) string { return text[:min(len(text), headBytes)] }

// SplitReturns splits a text at carriage returns, which would overwrite the line in a terminal.
// Empty parts are dropped. A carriage return before a newline is not a separator.
func SplitReturns(text string) []string {
	if !strings.Contains(text, "\r") {
		return []string{text}
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var out []string
	for {
		line, rest, more := strings.Cut(text, "\r")
		if line != "" || !more && len(out) == 0 {
			out = append(out, line)
		}
		if !more {
			return out
		}
		text = rest
	}
}
