// Package container defines the interface between an agent and the runtimes of its tasks: start a
// container, signal it, wait for its exit, read its output from any position, find it after a
// restart, and remove it. It is implemented with Docker and with plain processes, which satisfy the
// same contract (test/contract/container).
package container

import (
	"context"
	"errors"
	"time"
)

// Runtime runs containers. Its methods are safe for concurrent use. Containers continue to run when
// the agent exits or crashes.
type Runtime interface {
	// Prepare fetches the prerequisites of a container, such as its image, and returns an error if
	// the runtime cannot run it. It may be repeated.
	Prepare(ctx context.Context, spec Spec, note Note) error
	// Start creates and starts a container, after Prepare. It must only be called for an ID that is
	// Absent or Created; it replaces the remains of an interrupted Start. If the container
	// certainly never ran, the error is a *NeverRanError; after any other error, Inspect returns
	// the outcome.
	Start(ctx context.Context, spec Spec) error
	// Inspect returns the status of a container. A container that does not exist is Absent, which
	// is no error.
	Inspect(ctx context.Context, id string) (Status, error)
	// Signal asks a running container to stop. It returns nil if the container has exited or does
	// not exist.
	Signal(ctx context.Context, id string, sig Signal) error
	// Wait waits until the container has exited. It may be called repeatedly, also for a container
	// that has exited before. It returns ErrGone for a container that disappeared without an exit
	// code.
	Wait(ctx context.Context, id string) (code int, err error)
	// Logs reads the output after from, emits it in batches of lines, and returns nil when the
	// container has exited and all output was emitted. It stops at an error of emit and returns it.
	// Reading from the position of any line continues with the next line and yields the same lines.
	// It returns ErrGone for a container that disappeared.
	Logs(ctx context.Context, id string, from Position, emit func([]Line) error) error
	// List returns the IDs of the containers of this agent in a cluster, in any phase.
	List(ctx context.Context, cluster string) ([]string, error)
	// Remove kills the container if it is running, and deletes it. It returns nil if the container
	// does not exist.
	Remove(ctx context.Context, id string) error
}

// ErrGone is returned for a container that ran and no longer exists, or that exited without an exit
// code.
var ErrGone = errors.New("the container disappeared without an exit code")

// ErrNoAnswer is returned if the engine of a runtime is unreachable or does not answer in time. The
// requested operation may have happened, or may still happen.
var ErrNoAnswer = errors.New("the container engine does not answer")

// NeverRanError is an error of Start for a container that never ran and will not run.
type NeverRanError struct{ Err error }

func (e *NeverRanError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *NeverRanError) Unwrap() error { return e.Err }

// Note writes a line of the agent to the container's log.
type Note func(text string)

// Signal is a request to stop a container.
type Signal string

// Values of Signal.
const (
	Terminate Signal = "terminate"
	Kill      Signal = "kill"
)

// Phase is the state of a container in its runtime.
type Phase string

// Values of Phase.
const (
	Absent Phase = "absent"
	// Created means that the container exists but was never started.
	Created Phase = "created"
	Running Phase = "running"
	Ended   Phase = "ended"
)

// Status is the status of a container in its runtime.
type Status struct {
	Phase     Phase
	Addresses []Address
}

// Address is the address of a port of a running container.
type Address struct {
	ContainerIP   string
	ContainerPort int
	HostIP        string
	HostPort      int
}

// Position is a position in a container's output, after a line. Each runtime uses different fields;
// the zero Position is the beginning.
type Position struct {
	// Lines is the number of lines before the position.
	Lines uint64
	// Stdout and Stderr are the number of bytes before the position.
	Stdout, Stderr int64
}

// Values of Line.Stream.
const (
	Stdout = "stdout"
	Stderr = "stderr"
)

// MaxLine is the maximum length of a line in bytes. Longer lines are split between
// characters.
const MaxLine = 64 << 10

// Line is one line of output.
type Line struct {
	At time.Time
	// Stream is Stdout or Stderr.
	Stream string
	// Text does not end in a newline.
	Text []byte
	// Partial marks text without an end: the next line of the stream continues it, or the output ended.
	Partial bool
	// Next is the position after the line.
	Next Position
}
