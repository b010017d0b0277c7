package rm

import (
	"errors"
	"fmt"
)

// Errors that callers distinguish.
var (
	ErrUnknownJob   = errors.New("no such job in the queue")
	ErrUnknownPool  = errors.New("no such resource pool")
	ErrUnknownAgent = errors.New("no such agent")
	ErrUnknownSlot  = errors.New("no such slot")
)

// PriorityError is the error of a move to a position whose priority the user's jobs may not have.
type PriorityError struct{ Priority, Min int }

func (e *PriorityError) Error() string {
	return fmt.Sprintf("the priority %d of that position is more urgent than %d, the most urgent one that is allowed (task_policy.min_priority)", e.Priority, e.Min)
}

// Unfulfillable is the error of a request that can never run.
type Unfulfillable struct {
	Pool  string
	Slots int
	// Reason describes the resources of the pool.
	Reason string
	// Empty is set if the pool has no machine. A machine that joins later may do, for a request that
	// waits.
	Empty bool
}

// CountSlots returns a number of slots in words.
func CountSlots(n int) string {
	if n == 1 {
		return "1 slot"
	}
	return fmt.Sprintf("%d slots", n)
}

// Error contains "request unfulfillable", which clients search for.
func (u *Unfulfillable) Error() string {
	return fmt.Sprintf("request unfulfillable: %s in resource pool %q: %s", CountSlots(u.Slots), u.Pool, u.Reason)
}
