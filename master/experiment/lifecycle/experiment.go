package lifecycle

import "fmt"

// Request is a request to an experiment by a user, the search or the master.
type Request string

// The requests.
const (
	Pause    Request = "pause"
	Activate Request = "activate"
	Cancel   Request = "cancel"
	Kill     Request = "kill"
	// Finish is requested by the search after all trials have ended. Fail is requested if the
	// experiment cannot continue or all trials failed.
	Finish Request = "finish"
	Fail   Request = "fail"
	Delete Request = "delete"
)

// Requests returns all requests.
func Requests() []Request { return []Request{Pause, Activate, Cancel, Kill, Finish, Fail, Delete} }

// targetState returns the state that a request leads to.
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

// Ask returns the state of an experiment after a request. Requests are idempotent: the state does
// not change if it is already the requested one, or if the experiment is already ending. It returns
// an error if the state does not allow the request.
func Ask(s State, r Request) (State, error) {
	switch {
	case r.targetState() == "":
		return s, fmt.Errorf("unknown request %q", r)
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

// refuseRequest returns an error that suggests an alternative.
func refuseRequest(s State, r Request) error {
	switch {
	case s == Deleting || s == Deleted || s == DeleteFailed:
		return fmt.Errorf("it is being deleted (%s)", s)
	case r == Delete:
		return fmt.Errorf("it is %s; cancel or kill it first", s)
	case s.Stopping():
		return fmt.Errorf("it is stopping (%s); continue or fork it when it has ended", s)
	}
	return fmt.Errorf("it has ended (%s); continue or fork it", s)
}

// Close returns the state of an experiment with the given number of open trials. A stopping
// experiment ends when it has no open trials.
func Close(s State, open int) State {
	if s.Stopping() && open == 0 {
		return s.terminalState()
	}
	return s
}

// EndDeletion returns the state of an experiment after its deletion succeeded or failed.
func EndDeletion(s State, whole bool) (State, error) {
	if whole {
		return takeStep("experiment", experimentTable, s, Deleted)
	}
	return takeStep("experiment", experimentTable, s, DeleteFailed)
}
