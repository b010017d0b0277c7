package term

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/installer/event"
)

// Progress tells a person on Err how an operation goes: a line for what has ended and, on a
// terminal that can be written over, below them what is not finished. Nothing runs beside
// the operation: it is drawn with each event, and a program that is killed leaves the cursor
// below whole lines.
type Progress struct {
	s *Streams

	mu sync.Mutex // guards what follows
	// steps are what is not finished: phases first, then the plan's steps in its order.
	steps []liveStep
	// drawn is what is on the terminal below the finished lines.
	drawn []string
}

// NewProgress returns the progress of one operation.
func (s *Streams) NewProgress() *Progress { return &Progress{s: s} }

// Step is what an operation is going to do.
type Step struct {
	// ID is the verb and the subject of its events: "create aws/vpc".
	ID string
	// Needs are the IDs of the steps that it waits for.
	Needs []string
}

// Expect makes known what is going to be done, in the order of the plan.
func (p *Progress) Expect(steps []Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps = nil
	for _, s := range steps {
		p.steps = append(p.steps, liveStep{Step: s})
	}
}

// Show takes the events of the operation.
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
		// A phase is done when its steps are; they have told.
		if e.Scope == event.Step {
			line = p.ended(e, name)
		}
	}
	p.draw(line)
}

// ended is the line of a step that is over; the word says how, the colour only
// repeats it.
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

// draw adds a finished line, if it is not empty, and draws what is not finished below it.
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
