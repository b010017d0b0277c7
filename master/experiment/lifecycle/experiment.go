package lifecycle

import "fmt"

// Request is what a user, the search or the master asks of an experiment.
type Request string

// The requests.
const (
	Pause    Request = "pause"
	Activate Request = "activate"
	Cancel   Request = "cancel"
	Kill     Request = "kill"
	// Finish is asked by the search, once all trials have ended. Fail is asked when there is no way to
	// continue, or when all trials failed.
	Finish Request = "finish"
	Fail   Request = "fail"
	Delete Request = "delete"
)

// Requests is every request.
func Requests() []Request { return []Request{Pause, Activate, Cancel, Kill, Finish, Fail, Delete} }

// targetState is the state that a request leads to.
func (r Request) targetState() State {
	switch r {
	case Pause:
		return Paused
	case Activate:
		return Active
	case Cancel:
		return StoppingCanceled
	case Kill:
		return StoppingKilled
	case Finish:
		return StoppingCompleted
	case Fail:
		return StoppingError
	case Delete:
		return Deleting
	}
	return ""
}

// Ask is an experiment's state after a request. What is so already, or is on its way to an end
// that the request cannot change, stays: requests are repeated when their answers are lost. The
// error says why a request cannot be.
func Ask(s State, r Request) (State, error) {
	switch {
	case r.targetState() == "":
		return s, fmt.Errorf("ask the experiment: there is no request %q", r)
	case s == r.targetState(), s == Deleted && r == Delete:
		return s, nil
	case (s.Stopping() || s.Over()) && r != Delete && r != Pause && r != Activate:
		if s == StoppingCanceled && r == Kill {
			return StoppingKilled, nil
		}
		return s, nil
	}
	next, err := takeStep("experiment", experimentTable, s, r.targetState())
	if err != nil {
		return s, refuseRequest(s, r)
	}
	return next, nil
}

// refuseRequest says what to do instead.
func refuseRequest(s State, r Request) error {
	switch {
	case s == Deleting || s == Deleted || s == DeleteFailed:
		return fmt.Errorf("%s the experiment: it is being deleted (%s)", r, s)
	case r == Delete:
		return fmt.Errorf("delete the experiment: it is %s; cancel or kill it first", s)
	case s.Stopping():
		return fmt.Errorf("%s the experiment: it is stopping (%s); continue or fork it when it has ended", r, s)
	}
	return fmt.Errorf("%s the experiment: it has ended (%s); continue or fork it", r, s)
}

// Close is an experiment's state once it knows how many of its trials are open: one that is
// stopping has ended when none is.
func Close(s State, open int) State {
	if s.Stopping() && open == 0 {
		return s.terminalState()
	}
	return s
}

// EndDeletion is an experiment's state when its deletion ended.
func EndDeletion(s State, whole bool) (State, error) {
	if whole {
		return takeStep("experiment", experimentTable, s, Deleted)
	}
	return takeStep("experiment", experimentTable, s, DeleteFailed)
}
