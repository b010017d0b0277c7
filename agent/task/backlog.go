package task

import (
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/journal"
)

// unsentBytes is the most of one container's output that waits on this machine for a
// master that does not take it: what comes then is dropped, so that a task cannot fill
// the disk of all.
const unsentBytes = 1 << 30

// dropStep is how many bytes are dropped until the journal says so. Runtimes keep more
// than that of what was emitted, so that an agent that is killed meanwhile finds it.
const dropStep = 8 << 20

// backlog writes lines to the journal while there is room, and says how many it dropped.
type backlog struct {
	journal *journal.Journal
	most    int64

	lines, bytes int                // dropped, and not yet said
	behind       container.Position // after the last of them
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

// noteDropped puts what was dropped into the journal.
func (b *backlog) noteDropped() error {
	if b.lines == 0 {
		return nil
	}
	text := fmt.Appendf(nil, "%d lines of output were dropped here: the master has not taken those before for too long", b.lines)
	b.lines, b.bytes = 0, 0
	return b.journal.Append([]container.Line{{At: time.Now(), Stream: container.Stderr, Text: text, Next: b.behind}})
}
