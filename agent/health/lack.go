// Package health tracks whether a machine can start containers. It classifies failed starts as
// caused by the machine or by the task, schedules probes of an unhealthy machine and runs them.
package health

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
)

// Lack is a resource that a machine has run out of, or "".
type Lack string

// Values of Lack.
const (
	Disk        Lack = "disk"
	Descriptors Lack = "descriptors"
	Memory      Lack = "memory"
	Processes   Lack = "processes"
	// Engine means that the container engine does not answer.
	Engine Lack = "engine"
)

// lacks lists the errors that are caused by the machine regardless of the task.
var lacks = []struct {
	err  error
	lack Lack
}{
	{unix.ENOSPC, Disk},
	{unix.EDQUOT, Disk},
	{unix.EMFILE, Descriptors},
	{unix.ENFILE, Descriptors},
	{unix.ENOMEM, Memory},
	{unix.EAGAIN, Processes}, // of a process, a thread or a socket; a lock that is held has another error
	{container.ErrNoAnswer, Engine},
}

// LackOf returns the lack that caused a failed start, or "" if the task caused it.
func LackOf(err error) Lack {
	if sick, ok := errors.AsType[*SickError](err); ok {
		return sick.Lack
	}
	lack, _ := findLack(err)
	return lack
}

// Explain formats err with its cause first, because masters display the beginning of a text.
func Explain(err error) string {
	text := err.Error()
	if _, cause := findLack(err); cause != nil && cause.Error() != text {
		return cause.Error() + ": " + text
	}
	return text
}

// Cause describes a lack for all users, while err may contain the image or paths of a task. l is
// the lack of err.
func Cause(l Lack, err error) string {
	if sick, ok := errors.AsType[*SickError](err); ok {
		return sick.Reason
	}
	if _, cause := findLack(err); cause != nil {
		return cause.Error()
	}
	if l == Engine {
		return container.ErrNoAnswer.Error()
	}
	return "a probe failed; see the agent's log"
}

// findLack returns the lack of an error and the matching error in the table.
func findLack(err error) (Lack, error) {
	for _, l := range lacks {
		if errors.Is(err, l.err) {
			return l.lack, l.err
		}
	}
	return "", nil
}

// SickError is returned when an unhealthy agent rejects a container.
type SickError struct {
	Lack   Lack
	Reason string
}

func (e *SickError) Error() string {
	return fmt.Sprintf("the agent rejects new containers until its machine is healthy (%s): %s", e.Lack, e.Reason)
}
