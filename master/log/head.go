package log

import (
	"strconv"
	"strings"
)

// ReadHead takes off the beginning of a line's text the rank and the level that programs
// put there, "[rank=3] WARNING: text", and makes them the line's. Launchers of the client's
// library write the one, its logger the other. A line keeps its text where it begins
// otherwise.
func ReadHead(l Line) Line {
	if rank, rest, ok := cutRank(l.Text); ok {
		l.Rank, l.Text = new(rank), rest
	}
	if level, rest, ok := cutLevel(l.Text); ok {
		l.Level, l.Text = level, rest
	}
	return l
}

// cutRank reads "[rank=3] ", with a space before and behind it or not.
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

// cutLevel reads "WARNING: ", with a space before and behind it or not.
func cutLevel(text string) (level Level, rest string, ok bool) {
	word, _, ok := strings.Cut(strings.TrimPrefix(firstBytes(text), " "), ":")
	if !ok {
		return Unspecified, "", false
	}
	switch Level(word) {
	case Debug, Info, Warning, Error, Critical:
		return Level(word), strings.TrimPrefix(text[strings.IndexByte(text, ':')+1:], " "), true
	case Unspecified, Trace: // the library has no such level: the word is the program's
	}
	return Unspecified, "", false
}

// headBytes is longer than any head.
const headBytes = 32

// firstBytes keeps the search for a head from reading long lines.
func firstBytes(text string) string { return text[:min(len(text), headBytes)] }

// SplitReturns cuts a text where a carriage return would have its line overwritten. What
// it would overwrite before anything was printed is left out; one before a newline belongs
// to it.
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
