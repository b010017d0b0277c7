package change

import (
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// Reopen makes an ended experiment active: the trial of a single search, or the trials of a grid or
// random search that did not complete. It returns the IDs of the reopened trials, or an error if the
// experiment cannot be continued.
func (q Requests) Reopen() ([]int32, error) {
	if err := q.checkReopen(); err != nil {
		return nil, err
	}
	q.d.Record.State, q.d.Record.Failure, q.d.Record.Ended = lifecycle.Active, "", time.Time{}
	q.d.Record.LogsDropped, q.d.Record.EndedBy, q.d.Record.EndReason = false, "", ""
	q.d.note(record.Event{Kind: record.Continued, By: q.d.by, State: lifecycle.Active})
	var ids []int32
	for _, t := range q.d.trials.all() {
		if !q.reopens(t) {
			continue
		}
		ids = append(ids, t.ID)
		q.d.Record.Open++
		q.d.trials.put(reopenTrial(t))
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("cannot continue experiment %d: all of its trials completed; fork it instead", q.d.Record.ID)
	}
	return ids, q.d.settle()
}

func (q Requests) checkReopen() error {
	method := q.d.x.rules.search.Method
	switch {
	case q.d.Record.Unmanaged:
		return fmt.Errorf("cannot continue experiment %d: it is unmanaged; run its program again with the same external IDs", q.d.Record.ID)
	case q.d.Record.State == lifecycle.Completed || q.d.Record.State == lifecycle.Canceled || q.d.Record.State == lifecycle.Error:
	default:
		return fmt.Errorf("cannot continue experiment %d: it has not ended (%s)", q.d.Record.ID, q.d.Record.State)
	}
	if method != search.Single && method != search.Grid && method != search.Random {
		return fmt.Errorf("cannot continue experiment %d: trials of %s were compared with each other; fork it instead", q.d.Record.ID, method)
	}
	return nil
}

func (q Requests) reopens(t record.Trial) bool {
	return q.d.x.rules.search.Method == search.Single || t.Life.State != lifecycle.Completed
}

// reopenTrial adds a task to a trial. The run numbers continue, because they identify the reports of
// a run.
func reopenTrial(t record.Trial) record.Trial {
	t.Tasks = append(t.Tasks[:len(t.Tasks):len(t.Tasks)], fmt.Sprintf("%s-%d", t.Tasks[0], len(t.Tasks)))
	t.Life = lifecycle.Trial{State: lifecycle.Active, Run: t.Life.Run, Latest: t.Life.Latest, WarmStart: t.Life.WarmStart}
	t.Ended, t.Reason, t.Progress = time.Time{}, "", 0
	return t
}
