package journal

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Event is one line of a stream.
type Event struct {
	// ID is where the line is in the machine's journal: the same when it is read again.
	ID   string
	At   time.Time
	Text string
}

// What logs:PutLogEvents takes in one call, as its reference says.
const (
	maxEvents = 10_000
	maxBytes  = 1 << 20
	maxSpan   = 24 * time.Hour
	// overhead is what every event counts besides its text.
	overhead = 26
	// maxText is the longest text that was ever refused nowhere.
	maxText = 256<<10 - overhead
)

// Split puts events in order of time, as the call demands, and in as many
// batches as its limits need. Longer texts are cut, empty ones left out.
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

// TruncateText shortens a text to a number of bytes, between characters.
func TruncateText(text string, size int) string {
	if len(text) <= size {
		return text
	}
	for size > 0 && !utf8.RuneStart(text[size]) {
		size--
	}
	return text[:size]
}
