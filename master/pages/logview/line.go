package logview

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// Line is a line as a page shows it.
type Line struct {
	ID string
	// At is the time as scripts read it, and Shown as people do.
	At, Shown string
	// Level is a level from WARNING on, in small letters, or empty.
	Level string
	// Rank is the number of the process, or empty for the only one.
	Rank string
	// Parts are the text, with the matches of a search.
	Parts []Part
	// Rest is the number of characters that are left out.
	Rest int
}

// Part is a part of a line.
type Part struct {
	Text string
	// Match reports that the search found it.
	Match bool
}

// longestLine is the number of bytes of a line that a page shows. The downloaded file has all of them.
const longestLine = 4 << 10

// ShowLines returns lines of a log as a page shows them.
func ShowLines(list []Entry, f Filter) []Line {
	out := make([]Line, 0, len(list))
	for _, e := range list {
		out = append(out, showLine(e, f))
	}
	return out
}

func showLine(e Entry, f Filter) Line {
	at := e.GetTimestamp().AsTime().UTC()
	l := Line{ID: e.GetId(), At: at.Format(time.RFC3339Nano), Shown: at.Format("2006-01-02 15:04:05 UTC"), Level: shownLevel(e.GetLevel())}
	if rank := e.GetRankId(); rank > 0 || f.Rank != "" {
		l.Rank = strconv.Itoa(int(rank))
	}
	text := Readable(e.GetLog())
	if len(text) > longestLine {
		whole := text
		text = strings.ToValidUTF8(text[:longestLine], "")
		l.Rest = utf8.RuneCountInString(whole) - utf8.RuneCountInString(text)
	}
	l.Parts = split(text, f.matches(text))
	return l
}

// shownLevel returns the name of a level that deserves attention.
func shownLevel(level apiv1.LogLevel) string {
	if level < apiv1.LogLevel_LOG_LEVEL_WARNING {
		return ""
	}
	return strings.ToLower(strings.TrimPrefix(level.String(), "LOG_LEVEL_"))
}

// escapes are the sequences with which programs color the text of terminals, set titles and move the cursor.
var escapes = regexp.MustCompile("\x1b(?:\\[[0-9;:?<=>]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -/]*[0-~])")

// Readable returns the text of a line without the control characters of terminals. Of a line that a program
// has overwritten, such as a progress bar, only the last text remains.
func Readable(line string) string {
	line = strings.TrimRight(escapes.ReplaceAllString(line, ""), "\r\n")
	if i := strings.LastIndexByte(line, '\r'); i >= 0 {
		line = line[i+1:]
	}
	cells := strings.Split(line, "\t")
	for i, c := range cells {
		cells[i] = ui.Plain(c)
	}
	return strings.Join(cells, "\t")
}

// ReadableLines returns lines by Readable.
func ReadableLines(lines []string) []string {
	out := make([]string, 0, len(lines))
	for _, l := range lines {
		out = append(out, Readable(l))
	}
	return out
}

// split returns the parts of a text at the given positions and between them.
func split(text string, matches [][]int) []Part {
	var parts []Part
	done := 0
	for _, m := range matches {
		if m[0] == m[1] {
			continue
		}
		if m[0] > done {
			parts = append(parts, Part{Text: text[done:m[0]]})
		}
		parts = append(parts, Part{Text: text[m[0]:m[1]], Match: true})
		done = m[1]
	}
	if done < len(text) {
		parts = append(parts, Part{Text: text[done:]})
	}
	return parts
}
