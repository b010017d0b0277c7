package term

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"github.com/det-deploy/det-deploy/installer/event"
)

// liveStep is a phase or a step that is not finished.
type liveStep struct {
	Step

	// since is when it began; it is zero while it waits.
	since time.Time
}

// startStep returns steps with name begun. A phase, which no plan knows, comes first; a step
// that no plan told of, last.
func startStep(steps []liveStep, name string, e event.Event) []liveStep {
	i := slices.IndexFunc(steps, func(s liveStep) bool { return s.ID == name })
	if i >= 0 {
		steps[i].since = e.Time.Local()
		return steps
	}
	begun := liveStep{Step: Step{ID: name}, since: e.Time.Local()}
	if e.Scope == event.Phase {
		return slices.Insert(steps, 0, begun)
	}
	return append(steps, begun)
}

// endStep returns steps without name and, if it failed, without those that need it: they
// are not tried.
func endStep(steps []liveStep, name string, failed bool) []liveStep {
	gone := map[string]bool{name: true}
	return slices.DeleteFunc(steps, func(s liveStep) bool {
		if failed && slices.ContainsFunc(s.Needs, func(need string) bool { return gone[need] }) {
			gone[s.ID] = true // those that need it come later in the plan
		}
		return gone[s.ID]
	})
}

// liveLines is what is drawn of steps on a terminal of so many columns and rows: what runs,
// then what waits, and never more than leaves a row for the cursor. It is nothing when
// nothing runs.
func liveLines(steps []liveStep, columns, rows int) []string {
	var running, waiting []string
	for _, s := range steps {
		if s.since.IsZero() {
			waiting = append(waiting, "  · "+s.ID+waitReason(s, steps))
		} else {
			running = append(running, "  … "+s.ID+" since "+s.since.Format(time.TimeOnly))
		}
	}
	if len(running) == 0 {
		return nil
	}
	lines := slices.Concat(running, waiting)
	if room := max(rows-1, 1); len(lines) > room {
		hidden := len(lines) - room + 1
		lines = append(lines[:room-1], fmt.Sprintf("  · %d more %s", hidden, hiddenState(hidden, len(waiting))))
	}
	for i := range lines {
		lines[i] = ansi.Truncate(lines[i], max(columns-1, 1), "…")
	}
	return lines
}

// hiddenState is what the last steps do of which so many are not shown.
func hiddenState(hidden, waiting int) string {
	if hidden > waiting {
		return "run or wait"
	}
	return "wait"
}

// waitReason names the steps that s waits for and that are not finished, without a verb that
// is its own.
func waitReason(s liveStep, steps []liveStep) string {
	var open []string
	verb, _, _ := strings.Cut(s.ID, " ")
	for _, other := range steps {
		if slices.Contains(s.Needs, other.ID) {
			open = append(open, strings.TrimPrefix(other.ID, verb+" "))
		}
	}
	if len(open) == 0 {
		return " waits for its turn"
	}
	return " waits for " + strings.Join(open, ", ")
}

// eraseLines takes back the lines above the cursor. A terminal that has become narrower has
// broken them into several rows each.
func eraseLines(lines []string, columns int) string {
	if len(lines) == 0 {
		return ""
	}
	rows := 0
	for _, line := range lines {
		rows += (ansi.StringWidth(line) + columns - 1) / columns
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", rows)
}

// liveSize is the size of the terminal that the conversation is on; ok is false where what
// was said may not be written over, or no reader sees that it is.
func (s *Streams) liveSize() (columns, rows int, ok bool) {
	f, file := s.Err.(*os.File)
	if !file || s.keepLines || s.noColour || !s.canMove() {
		return 0, 0, false
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 || rows <= 0 {
		return 80, 24, true
	}
	return columns, rows, true
}

// KeepLines has nothing on Err written over from now on, because others write there, too.
func (s *Streams) KeepLines() { s.keepLines = true }
