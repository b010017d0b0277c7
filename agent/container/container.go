// Package container is what an agent asks of whatever runs its tasks: start
// a container, signal it, wait for its end, read its output from any point
// on, find it again after a restart, and remove it when told. Docker and
// plain processes stand behind it and keep the same contract
// (test/contract/container).
package container

import (
	"context"
	"errors"
	"time"
)

// Runtime runs containers. Its methods may be called from any goroutine.
// Containers continue to run when the agent exits or crashes.
type Runtime interface {
	// Prepare fetches what the container needs, its image above all, and
	// refuses what this runtime cannot run. It may be repeated.
	Prepare(ctx context.Context, spec Spec, note Note) error
	// Start makes the container and starts it, after Prepare. It must be
	// called only for an id that is Absent or Created; what an interrupted
	// Start left is replaced. The error of a container that never ran is the
	// reason; it is a *NeverRanError where that is certain, and else Inspect
	// tells.
	Start(ctx context.Context, spec Spec) error
	// Inspect says what is known of a container; one that is not there is
	// Absent and no error.
	Inspect(ctx context.Context, id string) (Status, error)
	// Signal asks a running container to end. One that has ended, or is not
	// there, is not an error.
	Signal(ctx context.Context, id string, sig Signal) error
	// Wait returns when the container has ended. It may be called any number
	// of times, and for a container that ended before. The error is ErrGone
	// for one that vanished without leaving a code.
	Wait(ctx context.Context, id string) (code int, err error)
	// Logs reads the output after from, emits it in runs of lines, and
	// returns nil when the container has ended and everything was emitted.
	// The error of emit stops it. Reading again after the position of any
	// line continues with the next, and gives the same lines. The error is
	// ErrGone for a container that vanished.
	Logs(ctx context.Context, id string, from Position, emit func([]Line) error) error
	// List names the containers of this agent in a cluster, whatever their
	// phase.
	List(ctx context.Context, cluster string) ([]string, error)
	// Remove ends the container if it still runs, and forgets it. One that
	// is not there is not an error.
	Remove(ctx context.Context, id string) error
}

// ErrGone means that a container ran and is no longer there, or that it
// ended without leaving a code.
var ErrGone = errors.New("the container vanished without leaving an exit code")

// ErrNoAnswer means that the engine behind a runtime cannot be reached or does not
// answer in time. What was asked of it may have happened, or may happen yet.
var ErrNoAnswer = errors.New("the container engine does not answer")

// NeverRanError is an error of Start after which nothing runs or will.
type NeverRanError struct{ Err error }

func (e *NeverRanError) Error() string { return e.Err.Error() }

// Unwrap gives the reason.
func (e *NeverRanError) Unwrap() error { return e.Err }

// Note tells the owner of a container something that belongs in its log.
type Note func(text string)

// Signal is how a container is asked to end.
type Signal string

// The signals.
const (
	Terminate Signal = "terminate"
	Kill      Signal = "kill"
)

// Phase is how far a container got in its runtime.
type Phase string

// The phases.
const (
	Absent Phase = "absent"
	// Created means that it is there and its program was never started.
	Created Phase = "created"
	Running Phase = "running"
	Ended   Phase = "ended"
)

// Status is what a runtime knows of a container.
type Status struct {
	Phase     Phase
	Addresses []Address
}

// Address is where a port of a running container is reached.
type Address struct {
	ContainerIP   string
	ContainerPort int
	HostIP        string
	HostPort      int
}

// Position is a place in a container's output, right after one line. Which
// fields count is the runtime's affair; the zero Position is the beginning.
type Position struct {
	// Lines counts the lines so far.
	Lines uint64
	// Stdout and Stderr count the bytes so far.
	Stdout, Stderr int64
}

// The streams.
const (
	Stdout = "stdout"
	Stderr = "stderr"
)

// MaxLine is the longest line in bytes that is kept whole; longer ones are
// cut in pieces of this length.
const MaxLine = 64 << 10

// Line is one line of output.
type Line struct {
	At time.Time
	// Stream is Stdout or Stderr.
	Stream string
	// Text has no newline at its end.
	Text []byte
	// Next is the position after the line.
	Next Position
}
