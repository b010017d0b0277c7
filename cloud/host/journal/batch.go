package journal

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Event is one line of a log stream.
type Event struct {
	// ID identifies the line in the machine's journal. It is stable across reads.
	ID   string
	At   time.Time
	Text string
}

// The limits of logs:PutLogEvents per call, from its API reference.
const (
	maxEvents = 10_000
	maxBytes  = 1 << 20
	maxSpan   = 24 * time.Hour
	// overhead is added to the size of each event.
	overhead = 26
	// maxText is the longest message in bytes that all endpoints accept.
	maxText = 256<<10 - overhead
)

// Split sorts events by time, as PutLogEvents requires, and splits them into batches within its
// limits. It truncates long messages and drops empty ones.
func Split(events []Event) [][]Event {
	sorted := slices.Clone(events)
	slices.SortStableFunc(sorted, func(a, b Event) int { return a.At.Compare(b.At) })
	var batches [][]Event
	var batch []Event
	size := 0
	for _, e := range sorted {
		e.Text = TruncateText(strings.TrimRight(e.Text, "\n"), maxText)
		if e.Text == "" {
			continue
		}
		cost := len(e.Text) + overhead
		if len(batch) > 0 && (len(batch) == maxEvents || size+cost > maxBytes || e.At.Sub(batch[0].At) >= maxSpan) {
			batches, batch, size = append(batches, batch), nil, 0
		}
		batch, size = append(batch, e), size+cost
	}
	if len(batch) > 0 {
		batches = append(batches, batch)
	}
	return batches
}

// TruncateText truncates a text to at most size bytes without splitting a character.
func TruncateText(text string, size int) string {
	if len(text) <= size {
		return text
	}
	for size > 0 && !utf8.RuneStart(text[size]) {
		size--
	}
	return text[:size]
}
