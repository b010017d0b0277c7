package rm

import (
	"errors"
	"fmt"
)

// The refusals that callers tell apart.
var (
	ErrUnknownJob   = errors.New("no such job in the queue")
	ErrUnknownPool  = errors.New("no such resource pool")
	ErrUnknownAgent = errors.New("no such agent")
	ErrUnknownSlot  = errors.New("no such slot")
)

// Unfulfillable says that a request can never be run.
type Unfulfillable struct {
	Pool  string
	Slots int
	// Reason says what the pool has instead.
	Reason string
	// Empty says that the pool has no machine at all: one that comes may do, for those who wait.
	Empty bool
}

// Error contains "request unfulfillable", the words that clients look for.
func (u *Unfulfillable) Error() string {
	return fmt.Sprintf("request unfulfillable: %d slots in resource pool %q: %s", u.Slots, u.Pool, u.Reason)
}
