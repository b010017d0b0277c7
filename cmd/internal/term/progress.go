package term

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/installer/event"
)

// Progress shows the progress of an operation on Err: a line for each finished step and, on a capable
// terminal, the unfinished steps below them. It is redrawn with each event and uses no goroutine, so that
// a killed process leaves the cursor below complete lines.
type Progress struct {
	s *Streams

	mu sync.Mutex // guards the following fields
	// steps are the unfinished steps: phases first, followed by the plan's steps in their order.
	steps []liveStep
	// drawn holds the lines drawn below the finished ones.
	drawn []string
}

// NewProgress returns the progress display of an operation.
func (s *Streams) NewProgress() *Progress { return &Progress{s: s} }

// Step is a planned step of an operation.
type Step struct {
	// ID is the verb and subject of its events, such as "create aws/vpc".
	ID string
	// Needs holds the IDs of its dependencies.
	Needs []string
}

// Expect sets the planned steps, in the order of the plan.
func (p *Progress) Expect(steps []Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps = nil
	for _, s := range steps {
		p.steps = append(p.steps, liveStep{Step: s})
	}
}

// Show handles an event of the operation.
func (p *Progress) Show(e event.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := strings.TrimSpace(e.Verb + " " + e.Subject)
	line := ""
	switch e.Type {
	case event.Started:
		p.steps = startStep(p.steps, name, e)
	case event.Progress:
		line = fmt.Sprintf("  %s: %s", e.Subject, e.Message)
	case event.Done, event.Failed:
		p.steps = endStep(p.steps, name, e.Type == event.Failed)
		// A phase ends with its steps, which have printed their own lines.
		if e.Scope == event.Step {
			line = p.ended(e, name)
		}
	}
	p.draw(line)
}

// ended formats the line of a finished step. The result is readable without the color.
func (p *Progress) ended(e event.Event, name string) string {
	word := "done  "
	style := Green
	if e.Type == event.Failed {
		word, style = "failed", Red
	}
	if p.s.colourErr() {
		word = style.Paint(word)
	}
	count := ""
	if e.Total > 0 {
		count = fmt.Sprintf("%d/%d ", e.Ended, e.Total)
	}
	return fmt.Sprintf("  %s%s %s (%s)", count, word, name, time.Duration(e.Took)*time.Millisecond)
}

// draw prints a finished line, if it is not empty, and redraws the unfinished steps below it.
func (p *Progress) draw(finished string) {
	if finished != "" {
		finished += "\n"
	}
	columns, rows, ok := p.s.liveSize()
	if !ok {
		p.s.promptLine(finished)
		return
	}
	lines := liveLines(p.steps, columns, rows)
	text := eraseLines(p.drawn, columns) + finished
	for _, line := range lines {
		text += line + "\n"
	}
	p.drawn = lines
	p.s.promptLine(text)
}
