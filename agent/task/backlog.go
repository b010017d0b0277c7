package task

import (
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/journal"
)

// unsentBytes is the maximum output per container that is stored while the master does not
// acknowledge it. Further output is dropped, so that a task cannot fill the machine's disk.
const unsentBytes = 1 << 30

// dropStep is the number of dropped bytes after which the journal records the loss. Runtimes retain
// more emitted output than that, so that the agent that follows a killed one finds it.
const dropStep = 8 << 20

// backlog writes lines to the journal while there is space, and records the number of dropped
// lines.
type backlog struct {
	journal *journal.Journal
	most    int64

	lines, bytes int                // dropped and not yet recorded
	behind       container.Position // the position after the last of them
}

func (b *backlog) appendLines(lines []container.Line) error {
	if b.journal.Held() < b.most {
		if err := b.noteDropped(); err != nil {
			return err
		}
		return b.journal.Append(lines)
	}
	for _, l := range lines {
		b.lines, b.bytes, b.behind = b.lines+1, b.bytes+len(l.Text)+1, l.Next
	}
	if b.bytes < dropStep {
		return nil
	}
	return b.noteDropped()
}

// noteDropped records the dropped lines in the journal.
func (b *backlog) noteDropped() error {
	if b.lines == 0 {
		return nil
	}
	text := fmt.Appendf(nil, "%d lines of output were dropped here because the master did not acknowledge earlier lines for too long", b.lines)
	b.lines, b.bytes = 0, 0
	return b.journal.Append([]container.Line{{At: time.Now(), Stream: container.Stderr, Text: text, Next: b.behind}})
}
