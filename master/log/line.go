// Package log stores the output of tasks. Every line is stored once, in the order of arrival, and
// can be read while the task is running.
package log

import (
	"fmt"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/internal/excerpt"
)

// Level is the severity of a line. It is empty if the line has no level.
type Level string

// The levels of Determined 0.38.1 without their prefix.
const (
	Unspecified Level = ""
	Trace       Level = "TRACE"
	Debug       Level = "DEBUG"
	Info        Level = "INFO"
	Warning     Level = "WARNING"
	Error       Level = "ERROR"
	Critical    Level = "CRITICAL"
)

// ParseLevel accepts a level as LOG_LEVEL_INFO or, as sent by the log shipper, as INFO. It returns
// an error for an unknown level.
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
	// At has a resolution of one microsecond. A zero time is replaced by the time of arrival.
	At      time.Time
	Stdtype string // "stdout", "stderr" or empty
	Level   Level
	Rank    *int   // of the process that printed it; nil for the rank of the batch, if any
	Source  string // "task", "master", "agent" or a name chosen by the sender
	// Text has no trailing newline; Append removes one. Invalid UTF-8 is replaced, because it cannot
	// be sent to clients.
	Text string
	// Partial marks text without an end: the next line of the same container and stream continues it,
	// or the output ended.
	Partial bool
}

// LineLimit is the maximum size of a line in bytes. Longer lines are split between characters; all
// parts but the last are marked Partial.
const LineLimit = 64 << 10

// Batch is a sequence of consecutive lines of one container.
type Batch struct {
	Task       string
	Allocation string
	Container  string
	Agent      string
	Rank       *int // of lines without a rank; may be nil
	// FirstSeq is the sequence number of Lines[0]. A container's first line is 0.
	FirstSeq int64
	Lines    []Line
}

// Entry is a stored line.
type Entry struct {
	// ID is the number of the line within the task, from 0 and without gaps.
	ID         int64
	Task       string
	Allocation string
	Container  string
	Agent      string
	Line
}

// Message formats an entry for a terminal, including a newline, exactly as the det client does:
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
	// Text from a program may contain newlines. Indent them, so that no line can imitate a head.
	b.WriteString(strings.ReplaceAll(e.Text, "\n", "\n    ") + "\n")
	return b.String()
}

// cleanLine appends l to lines in stored form: with a time, valid UTF-8, no newline, and split at
// LineLimit.
func cleanLine(lines []Line, l Line, now time.Time) []Line {
	if l.At.IsZero() {
		l.At = now
	}
	text := strings.ToValidUTF8(strings.TrimSuffix(l.Text, "\n"), "\uFFFD")
	for len(text) > LineLimit {
		part := l
		cut := excerpt.Cut(text, LineLimit)
		part.Text, part.Partial, text = text[:cut], true, text[cut:]
		lines = append(lines, part)
	}
	l.Text = text
	return append(lines, l)
}
