package term

import (
	"fmt"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/installer/event"
)

// clearLine takes back the line that the cursor is in.
const clearLine = "\r\x1b[K"

// Progress returns a sink that tells a person on Err how an operation goes: a
// line for what has ended, and on a terminal below them one that says what is
// being done. Nothing runs beside the operation, so that a program that is
// killed leaves no half-drawn screen behind.
func (s *Streams) Progress() event.Sink {
	p := &progress{s: s}
	return event.Serial(p.show)
}

type progress struct {
	s *Streams
	// running are the subjects that have started and not ended, oldest first.
	running []string
}

func (p *progress) show(e event.Event) {
	name := strings.TrimSpace(e.Verb + " " + e.Subject)
	switch e.Type {
	case event.Started:
		p.running = append(p.running, name)
	case event.Progress:
		p.line(fmt.Sprintf("  %s: %s", e.Subject, e.Message))
	case event.Done, event.Failed:
		p.end(name)
		// A phase is done when its steps are; they have told.
		if e.Scope == event.Step {
			p.line(p.ended(e, name))
		}
	}
	p.status()
}

func (p *progress) end(name string) {
	for i, r := range p.running {
		if r == name {
			p.running = append(p.running[:i], p.running[i+1:]...)
			return
		}
	}
}

// ended is the line of a step that is over; the word says how, the colour only
// repeats it.
func (p *progress) ended(e event.Event, name string) string {
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

func (p *progress) line(text string) {
	if p.s.errTerminal {
		text = clearLine + text
	}
	p.s.Notef("%s", text)
}

// status draws what is being done, without ending the line.
func (p *progress) status() {
	if !p.s.errTerminal {
		return
	}
	if len(p.running) == 0 {
		p.s.prompt(clearLine)
		return
	}
	p.s.prompt(clearLine + "  … " + p.running[len(p.running)-1])
}
