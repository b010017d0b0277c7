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

// liveStep is an unfinished phase or step.
type liveStep struct {
	Step

	// since is the start time, or zero while the step is waiting.
	since time.Time
}

// startStep returns steps with the named one started. An unplanned phase is inserted first, and an
// unplanned step last.
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

// endStep returns steps without the named one and, if it failed, without its dependents, which will not
// run.
func endStep(steps []liveStep, name string, failed bool) []liveStep {
	gone := map[string]bool{name: true}
	return slices.DeleteFunc(steps, func(s liveStep) bool {
		if failed && slices.ContainsFunc(s.Needs, func(need string) bool { return gone[need] }) {
			gone[s.ID] = true // dependents come later in the plan
		}
		return gone[s.ID]
	})
}

// liveLines renders steps on a terminal with the given size: first the running ones, then the waiting
// ones. It leaves a row for the cursor. It returns nil if no step is running.
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

// hiddenState describes the state of the hidden steps.
func hiddenState(hidden, waiting int) string {
	if hidden > waiting {
		return "run or wait"
	}
	return "wait"
}

// waitReason lists the unfinished dependencies of s, without the verb if it is the same.
func waitReason(s liveStep, steps []liveStep) string {
	var open []string
	verb, _, _ := strings.Cut(s.ID, " ")
	for _, other := range steps {
		if slices.Contains(s.Needs, other.ID) {
			open = append(open, strings.TrimPrefix(other.ID, verb+" "))
		}
	}
	if len(open) == 0 {
		return " waits for a free worker"
	}
	return " waits for " + strings.Join(open, ", ")
}

// eraseLines returns the sequence that erases the lines above the cursor. On a terminal that became
// narrower, each line may occupy several rows.
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

// liveSize returns the size of the terminal for Err; ok is false if lines must not be overwritten.
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

// ErrRows returns the number of rows of the terminal for Err. It returns 0 if Err is no terminal, or if the
// output is for a screen reader.
func (s *Streams) ErrRows() int {
	f, file := s.Err.(*os.File)
	if !file || !s.errTerminal || s.isAccessible() {
		return 0
	}
	_, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return rows
}

// KeepLines prevents overwriting lines on Err, because other output is written there as well.
func (s *Streams) KeepLines() { s.keepLines = true }
