package lifecycle

import (
	"slices"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Status returns the state of the allocation in one word. An allocation that is being ended keeps the
// status that it had before, until nothing of it is left.
func (a Allocation) Status() apiv1.Status {
	if a.End != nil {
		return a.End.status()
	}
	most := -1
	for _, c := range a.Containers {
		most = max(most, slices.Index(containerOrder(), c.State))
	}
	open := apiv1.OpenStatuses()
	return open[min(most+1, slices.Index(open, apiv1.StatusRunning))] // one that has ended ran before
}

func (e Ending) status() apiv1.Status {
	switch e.Cause {
	case rm.CauseExited:
		if e.Status == Success {
			return apiv1.StatusSucceeded
		}
	case rm.CauseKilled:
		return apiv1.StatusKilled
	case rm.CausePreempted:
		return apiv1.StatusPreempted
	case rm.CauseAgentLost:
		return apiv1.StatusLost
	case rm.CauseNotHere, rm.CauseRefused:
	}
	return apiv1.StatusFailed
}

// EndNote returns why an allocation that ended without success did so besides its exit code, such as who
// killed it, or that its program used more memory than its limit; "" if there is no more to say.
func (a Allocation) EndNote() string {
	switch {
	case a.End == nil || a.End.Status == Success:
		return ""
	case a.End.Code != nil:
		return a.ExitNote()
	}
	return a.End.Status
}

// StopNote returns the reason why an allocation that has not ended is being ended, or "".
func (a Allocation) StopNote() string {
	switch {
	case a.Over():
		return ""
	case a.Killed != nil:
		return "stopping: " + a.Killed.Reason
	case a.Preempted != nil:
		return "stopping: " + a.Preempted.Reason
	}
	return ""
}
