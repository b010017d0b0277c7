package task

import (
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// keptRefusals is how many allocations that no machine could start are kept of a task:
// one that waits for a day is refused more than a thousand times, and the last ones
// say what is to be known.
const keptRefusals = 20

// forgetRefusals leaves out the older allocations that could not be started for what
// a machine lacks, as far as their lines are in the log: said of them are. It is pure.
func forgetRefusals(s snapshot, said int64) snapshot {
	refused := 0
	for _, a := range s.allocations {
		if notHere(a) {
			refused++
		}
	}
	if refused <= keptRefusals {
		return s
	}
	kept := make([]lifecycle.Allocation, 0, len(s.allocations))
	for _, a := range s.allocations {
		if notHere(a) && refused > keptRefusals && a.FirstLine+int64(len(a.Lines)) <= said {
			refused--
			continue
		}
		kept = append(kept, a)
	}
	s.allocations = kept
	return s
}

func notHere(a lifecycle.Allocation) bool { return a.End != nil && a.End.Cause == rm.CauseNotHere }
