// Package log keeps what tasks print: every line once, in the order it arrived,
// readable while the task still writes.
package log

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Level is how serious a line says it is; empty where it does not say.
type Level string

// The levels of Determined 0.38.1, without their prefix.
const (
	Unspecified Level = ""
	Trace       Level = "TRACE"
	Debug       Level = "DEBUG"
	Info        Level = "INFO"
	Warning     Level = "WARNING"
	Error       Level = "ERROR"
	Critical    Level = "CRITICAL"
)

// ParseLevel accepts LOG_LEVEL_INFO and, as the log shipper also sends it, INFO.
func ParseLevel(s string) (Level, error) {
	level := Level(strings.TrimPrefix(s, "LOG_LEVEL_"))
	switch level {
	case Unspecified, "UNSPECIFIED":
		return Unspecified, nil
	case Trace, Debug, Info, Warning, Error, Critical:
		return level, nil
	}
	return "", fmt.Errorf("log level %q: must be one of TRACE, DEBUG, INFO, WARNING, ERROR, CRITICAL", s)
}

// Line is one line of a container's output.
type Line struct {
	// At is kept to the microsecond; a zero time becomes the time of arrival.
	At      time.Time
	Stdtype string // "stdout", "stderr" or empty
	Level   Level
	Rank    *int   // of the process that printed it; nil for none, or for its batch's
	Source  string // "task", "master", "agent" or what the sender calls itself
	// Text has no newline at its end; one that it has is taken off. Broken UTF-8 is
	// replaced, because it could not be sent on.
	Text string
	// Continued says that this line is the rest of the one before it, which was
	// longer than LineLimit.
	Continued bool
}

// LineLimit is the longest text kept in one piece, in bytes. A longer line is cut,
// between characters, into lines of which all but the first are Continued.
const LineLimit = 64 << 10

// Batch is consecutive lines of one container, numbered by their reader.
type Batch struct {
	Task       string
	Allocation string
	Container  string
	Agent      string
	Rank       *int // of lines that have none of their own; nil for none
	// FirstSeq is the number of Lines[0]; a container's first line is 0.
	FirstSeq int64
	Lines    []Line
}

// Entry is a line as it is kept.
type Entry struct {
	// ID is the line's number within the task, from 0 and without gaps.
	ID         int64
	Task       string
	Allocation string
	Container  string
	Agent      string
	Line
}

// Message renders an entry for a terminal, newline included, exactly as the det
// client prints it:
//
//	[2022-03-02T02:15:18.299569Z] f6114bb3 [rank=1] || INFO: text
func (e Entry) Message() string {
	var b strings.Builder
	b.WriteString(e.At.UTC().Format("[2006-01-02T15:04:05.000000Z] "))
	fmt.Fprintf(&b, "%-8.8s ", e.Container)
	if e.Rank != nil {
		fmt.Fprintf(&b, "[rank=%d] ", *e.Rank)
	}
	b.WriteString("|| ")
	if e.Level != Unspecified {
		b.WriteString(string(e.Level) + ": ")
	}
	// What a program in the task sends may have several lines; none may look as if it
	// had a head of its own.
	b.WriteString(strings.ReplaceAll(e.Text, "\n", "\n    ") + "\n")
	return b.String()
}

// cleanLine makes a line what is kept: dated, valid, without its newline, cut.
func cleanLine(lines []Line, l Line, now time.Time) []Line {
	if l.At.IsZero() {
		l.At = now
	}
	text := strings.ToValidUTF8(strings.TrimSuffix(l.Text, "\n"), "\uFFFD")
	for len(text) > LineLimit {
		cut := LineLimit
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		l.Text = text[:cut]
		lines = append(lines, l)
		text, l.Continued = text[cut:], true
	}
	l.Text = text
	return append(lines, l)
}
