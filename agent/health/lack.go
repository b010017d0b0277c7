// Package health decides whether a machine can start containers: which failure of a
// start is the machine's and not the task's, when the machine is looked at again, and
// what is tried then.
package health

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
)

// Lack is what a machine has run out of; empty for nothing.
type Lack string

// What a machine may lack.
const (
	Disk        Lack = "disk"
	Descriptors Lack = "descriptors"
	Memory      Lack = "memory"
	Processes   Lack = "processes"
	// Engine is a container engine that does not answer.
	Engine Lack = "engine"
)

// lacks is every error that is the machine's fault, whatever the task.
var lacks = []struct {
	err  error
	lack Lack
}{
	{unix.ENOSPC, Disk},
	{unix.EDQUOT, Disk},
	{unix.EMFILE, Descriptors},
	{unix.ENFILE, Descriptors},
	{unix.ENOMEM, Memory},
	{container.ErrNoAnswer, Engine},
}

// LackOf finds what a machine lacks by why a container did not start; empty where that
// is the task's affair.
func LackOf(err error) Lack {
	if sick, ok := errors.AsType[*SickError](err); ok {
		return sick.Lack
	}
	lack, _ := findLack(err)
	return lack
}

// Explain is err with what is lacking first: masters repeat the beginning of a text.
func Explain(err error) string {
	text := err.Error()
	if _, cause := findLack(err); cause != nil && cause.Error() != text {
		return cause.Error() + ": " + text
	}
	return text
}

// Cause is what is lacking in words that all may read: err itself may name a task's image
// or a path. The lack is that of err.
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
	return "a probe of it failed; the agent's log says how"
}

// findLack returns the lack of an error, and the error of the table that it matched.
func findLack(err error) (Lack, error) {
	for _, l := range lacks {
		if errors.Is(err, l.err) {
			return l.lack, l.err
		}
	}
	if cannotFork(err) {
		return Processes, unix.EAGAIN
	}
	return "", nil
}

// cannotFork tells EAGAIN of a new process from EAGAIN of a lock or a socket.
func cannotFork(err error) bool {
	p, ok := errors.AsType[*fs.PathError](err)
	return ok && p.Op == "fork/exec" && errors.Is(p.Err, unix.EAGAIN)
}

// SickError is why a sick agent does not start what it is asked to.
type SickError struct {
	Lack   Lack
	Reason string
}

func (e *SickError) Error() string {
	return fmt.Sprintf("the agent takes nothing until its machine is well (%s): %s", e.Lack, e.Reason)
}
