package lifecycle

import (
	"fmt"

	"github.com/det-deploy/det-deploy/master/rm"
)

// Success is the status of an allocation whose program ended with 0.
const Success = "allocation exited successfully"

// Finish notes that nothing of the allocation is left. Preemptible says that the
// task may be run again. Repeated, it changes nothing.
func (a Allocation) Finish(e rm.End, preemptible bool) (Allocation, error) {
	if a.Over() {
		return a, nil
	}
	end := a.decideEnd(e)
	end.At = e.At
	end.Again = a.Killed == nil && (end.Cause == rm.CauseNotHere ||
		preemptible && (end.Cause == rm.CausePreempted || end.Cause == rm.CauseAgentLost))
	switch end.Cause {
	case rm.CauseExited:
		if end.Status != Success {
			a.addMessage(e.At, levelError, "crashed: %s", end.Status)
		}
	case rm.CauseKilled:
		a.addMessage(e.At, levelInfo, "killed: %s", end.Status)
	case rm.CausePreempted:
		a.addMessage(e.At, levelInfo, "preempted: %s", end.Status)
	case rm.CauseAgentLost, rm.CauseRefused:
		a.addMessage(e.At, levelError, "crashed: %s", end.Status)
	case rm.CauseNotHere:
		a.addMessage(e.At, levelWarning, "not started: %s", end.Status)
	}
	if end.Again && end.Cause != rm.CauseNotHere { // what follows that says so itself
		a.addMessage(e.At, levelInfo, "%s is run again from its start", a.Name)
	}
	a.End = &end
	return a, a.moveTo(Terminated)
}

// decideEnd says how it ended. What a person asked for goes before what became of the
// program because of it, and before what a machine did to it; what the program did by
// itself goes before what was done to its siblings.
func (a Allocation) decideEnd(e rm.End) Ending {
	switch {
	case a.Killed != nil && !a.allSucceeded() &&
		(a.Failure == nil || e.Cause == rm.CauseNotHere || e.Cause == rm.CauseAgentLost):
		return Ending{Cause: rm.CauseKilled, Status: a.Killed.Reason}
	case !a.hasFinished() && (e.Cause == rm.CausePreempted || e.Cause == rm.CauseExited && a.Preempted != nil):
		return Ending{Cause: rm.CausePreempted, Status: reasonOf(e, a.Preempted)}
	case a.allSucceeded():
		zero := int32(0)
		return Ending{Cause: rm.CauseExited, Status: Success, Code: &zero}
	case e.Cause == rm.CauseNotHere && a.neverStarted():
		return Ending{Cause: rm.CauseNotHere, Status: reasonOr(e.Reason, "an agent could not start it")}
	case e.Cause == rm.CauseAgentLost, e.Cause == rm.CauseNotHere: // or what has run lost the rest of it
		return Ending{Cause: rm.CauseAgentLost, Status: reasonOr(e.Reason, "an agent was lost")}
	case a.Failure != nil:
		return Ending{Cause: rm.CauseExited, Status: a.Failure.failureText(), Code: a.Failure.exitCode()}
	case e.Cause == rm.CauseExited:
		return Ending{Cause: rm.CauseExited, Status: "resources ended without saying how"}
	}
	return Ending{Cause: e.Cause, Status: reasonOr(e.Reason, string(e.Cause))}
}

// hasFinished says that the program reached its own end, whatever it was asked: it
// succeeded, and listens for the preemption signal, and did not heed it. One that does
// not listen is sent SIGTERM, and many a program saves itself then and ends with 0.
func (a Allocation) hasFinished() bool {
	heeds := a.Preempted != nil && (a.Preempted.Acked || !a.Listens)
	return a.allSucceeded() && !heeds
}

func (a Allocation) allSucceeded() bool {
	daemonsCount := !a.leavesDaemons()
	for _, c := range a.Containers {
		if c.Daemon && !daemonsCount {
			continue
		}
		if c.Exit == nil || c.Exit.Kind != Exited || c.Exit.Code != 0 {
			return false
		}
	}
	return len(a.Containers) > 0
}

func reasonOf(e rm.End, s *Stop) string {
	if s != nil {
		return s.Reason
	}
	return reasonOr(e.Reason, "the slots were needed")
}

func reasonOr(reason, otherwise string) string {
	if reason != "" {
		return reason
	}
	return otherwise
}

// failureText says what failed, in the words that clients look for.
func (f Failure) failureText() string {
	switch f.Exit.Kind {
	case NotStarted:
		return "resources could not be started: " + reasonOr(f.Exit.Message, "the agent gave no reason")
	case Lost:
		return "resources were lost: " + reasonOr(f.Exit.Message, "the agent gave no reason")
	default:
		return fmt.Sprintf("resources failed with non-zero exit code: container failed with non-zero exit code: %d (exit code %d)",
			f.Exit.Code, f.Exit.Code)
	}
}

// exitCode is the program's own, which a container that never ran has not.
func (f Failure) exitCode() *int32 {
	if f.Exit.Kind != Exited {
		return nil
	}
	code := f.Exit.Code
	return &code
}
