package agent

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

// keeper writes lines to the journal while there is room, and says how many it dropped.
type keeper struct {
	journal *journal.Journal
	most    int64

	lines, bytes int                // dropped, and not yet said
	behind       container.Position // after the last of them
}

func (k *keeper) append(lines []container.Line) error {
	if k.journal.Held() < k.most {
		if err := k.say(); err != nil {
			return err
		}
		return k.journal.Append(lines)
	}
	for _, l := range lines {
		k.lines, k.bytes, k.behind = k.lines+1, k.bytes+len(l.Text)+1, l.Next
	}
	if k.bytes < dropStep {
		return nil
	}
	return k.say()
}

// say puts what was dropped into the journal.
func (k *keeper) say() error {
	if k.lines == 0 {
		return nil
	}
	text := fmt.Appendf(nil, "%d lines of output were dropped here: the master has not taken those before for too long", k.lines)
	k.lines, k.bytes = 0, 0
	return k.journal.Append([]container.Line{{At: time.Now(), Stream: container.Stderr, Text: text, Next: k.behind}})
}
