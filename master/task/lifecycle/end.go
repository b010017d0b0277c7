package lifecycle

import (
	"fmt"

	"github.com/det-deploy/det-deploy/master/rm"
)

// Success is the status of an allocation whose program exited with 0.
const Success = "allocation exited successfully"

// Finish records that nothing of the allocation is left. Preemptible reports whether the task may be run
// again, as one that was paused always is. Repeated, it changes nothing. It returns an error if the state
// table has no such transition.
func (a Allocation) Finish(e rm.End, preemptible bool) (Allocation, error) {
	if a.Over() {
		return a, nil
	}
	end := a.decideEnd(e)
	end.At = e.At
	end.Again = a.Killed == nil && (end.Cause == rm.CauseNotHere ||
		(preemptible || a.Pause != nil) && (end.Cause == rm.CausePreempted || end.Cause == rm.CauseAgentLost))
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
	if end.Again && end.Cause != rm.CauseNotHere && a.Pause == nil { // the following allocation logs that itself
		a.addMessage(e.At, levelInfo, "%s will be run again from its start", a.Name)
	}
	a.End = &end
	return a, a.moveTo(Terminated)
}

// decideEnd returns how the allocation ended. A user's request takes precedence over its effects on the
// program and over failures of a machine; the program's own exit takes precedence over the kill of its
// siblings.
func (a Allocation) decideEnd(e rm.End) Ending {
	switch {
	case a.Killed != nil && (e.Stopped || !a.allSucceeded()) &&
		(a.Failure == nil || e.Cause == rm.CauseNotHere || e.Cause == rm.CauseAgentLost):
		return Ending{Cause: rm.CauseKilled, Status: a.Killed.Reason}
	case !a.hasFinished() && (e.Cause == rm.CausePreempted || e.Cause == rm.CauseExited && a.Preempted != nil):
		return Ending{Cause: rm.CausePreempted, Status: reasonOf(e, a.Preempted)}
	case a.allSucceeded():
		zero := int32(0)
		return Ending{Cause: rm.CauseExited, Status: Success, Code: &zero}
	case e.Cause == rm.CauseNotHere && a.neverStarted():
		return Ending{Cause: rm.CauseNotHere, Status: reasonOr(e.Reason, "an agent could not start it")}
	case e.Cause == rm.CauseAgentLost, e.Cause == rm.CauseNotHere: // or a program had run and the rest was lost
		return Ending{Cause: rm.CauseAgentLost, Status: reasonOr(e.Reason, "an agent was lost")}
	case a.Failure != nil:
		return Ending{Cause: rm.CauseExited, Status: a.Failure.failureText(), Code: a.Failure.exitCode()}
	case e.Cause == rm.CauseExited:
		return Ending{Cause: rm.CauseExited, Status: "resources ended without an exit status"}
	}
	return Ending{Cause: e.Cause, Status: reasonOr(e.Reason, string(e.Cause))}
}

// hasFinished reports whether the program reached its own end in spite of a preemption: it succeeded,
// and it listens for the preemption signal but did not acknowledge it. A program that does not listen is
// sent SIGTERM, upon which many programs checkpoint and exit with 0.
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

// failureText describes the failure in the words that clients search for.
func (f Failure) failureText() string {
	switch f.Exit.Kind {
	case NotStarted:
		return "resources could not be started: " + reasonOr(f.Exit.Message, "the agent gave no reason")
	case Lost:
		return "resources were lost: " + reasonOr(f.Exit.Message, "the agent gave no reason")
	default:
		text := fmt.Sprintf("resources failed with non-zero exit code: container failed with non-zero exit code: %d (exit code %d)",
			f.Exit.Code, f.Exit.Code)
		if f.Exit.Message != "" {
			text += "; " + f.Exit.Message
		}
		return text
	}
}

// ExitNote returns what is known about the failure of an ended allocation besides its exit code, such as that its
// program was killed because it used more memory than its limit, or "".
func (a Allocation) ExitNote() string {
	if a.End == nil || a.End.Code == nil || a.Failure == nil {
		return ""
	}
	return a.Failure.Exit.Message
}

// exitCode returns the program's exit code, or nil for a container that never ran.
func (f Failure) exitCode() *int32 {
	if f.Exit.Kind != Exited {
		return nil
	}
	code := f.Exit.Code
	return &code
}
