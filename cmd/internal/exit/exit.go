// Package exit holds the numbers that det-deploy ends with, so that scripts can
// tell what happened without reading text: one table from errors to codes.
package exit

import (
	"context"
	"errors"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/installer/record"
)

// Code is a process exit code.
type Code int

// The codes. Those of a task itself pass through `task run` unchanged.
const (
	// Done means that what was asked for is so.
	Done Code = 0
	// Error means that it is not; the message says what to do.
	Error Code = 1
	// Usage means that the command line is wrong and nothing was tried.
	Usage Code = 2
	// Interrupted means that a signal or a lost lease stopped the work between two
	// steps; the same command continues.
	Interrupted Code = 3
	// Denied means that a platform or a master knows the caller and refuses.
	Denied Code = 4
	// Capacity means that a platform has no machines of the kind, or a quota of
	// the account is used up.
	Capacity Code = 5
	// Unwanted means that a master does not want this machine as an agent.
	// Starting it again does not help.
	Unwanted Code = 6
	// NotTheTask is what `task run` ends with when det-deploy, and not the
	// task, went wrong. It is the number that docker run, timeout and xargs keep
	// clear of programs' own codes.
	NotTheTask Code = 125
)

// Rule is one row of the table.
type Rule struct {
	Code Code
	// Name is the word for the code in JSON.
	Name string
	// Means is one sentence for the documentation.
	Means string
	// is says whether an error falls under the rule; nil where no error does.
	is func(error) bool
}

// Rules returns the table, in the order in which the rules are asked.
func Rules() []Rule {
	return []Rule{
		{Done, "done", "What was asked for is so, whether or not anything had to be done.", nil},
		{Usage, "usage", "The command line is wrong; nothing was tried.", isUsage},
		{Interrupted, "interrupted", "A signal stopped the work between two steps, and the same command continues; or it ended a log that was followed.", isInterrupted},
		{Denied, "denied", "A platform or a master refused: not permitted, or not logged in.", isDenied},
		{Capacity, "capacity", "A platform has no machines of the kind, or a quota is used up.", isCapacity},
		{Unwanted, "unwanted", "`agent run` only: the master does not want this machine, or no longer. Starting the agent again does not help.", isUnwanted},
		{NotTheTask, "not_the_task", "`task run` only: det-deploy went wrong, not the task. Any other code is the task's own.", nil},
		{Error, "error", "It is not so; the message says what happened, to what, and what to do.", nil},
	}
}

// status is an error that brings its own code.
type status struct {
	code Code
	err  error
}

func (s *status) Error() string {
	if s.err == nil {
		return ""
	}
	return s.err.Error()
}

func (s *status) Unwrap() error { return s.err }

// With returns err with the code that the program is to end with. A nil err
// ends it silently.
func With(code Code, err error) error {
	return &status{code, err}
}

// Followed is how a command ends that shows something until it is interrupted: silently
// with Interrupted once ctx is done, because its user has seen enough, and else with err.
func Followed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return With(Interrupted, nil)
	}
	return err
}

// Unless ends the program with Error where what was asked about is not ok, silently:
// the answer has said why.
func Unless(ok bool) error {
	if ok {
		return nil
	}
	return With(Error, nil)
}

// Silent reports whether there is nothing left to print about err: what had to
// be said was said by the task itself.
func Silent(err error) bool {
	s, ok := errors.AsType[*status](err)
	return ok && s.err == nil
}

// Of returns the code for err.
func Of(err error) Code {
	if err == nil {
		return Done
	}
	if s, ok := errors.AsType[*status](err); ok {
		return s.code
	}
	for _, r := range Rules() {
		if r.is != nil && r.is(err) {
			return r.Code
		}
	}
	return Error
}

// Name returns the word for c: "usage", or "task" for a task's own code.
func (c Code) Name() string {
	for _, r := range Rules() {
		if r.Code == c {
			return r.Name
		}
	}
	return "task"
}

func isUsage(err error) bool {
	_, ok := errors.AsType[*usage.Error](err)
	return ok || isFromFlags(err)
}

// fromFlags is implemented by complaints about values wherever they came from: a
// flag, a variable, a document.
type fromFlags interface{ FromFlags() bool }

func isFromFlags(err error) bool {
	f, ok := errors.AsType[interface {
		error
		fromFlags
	}](err)
	return ok && f.FromFlags()
}

func isInterrupted(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, record.ErrLost)
}

// denied is implemented by the errors of a master's client: not logged in, or
// logged in as a user who may not.
type denied interface{ Denied() bool }

func isDenied(err error) bool {
	if d, ok := errors.AsType[interface {
		error
		denied
	}](err); ok && d.Denied() {
		return true
	}
	return cloud.KindOf(err) == cloud.Denied
}

// unwanted is implemented by a master's refusal of an agent.
type unwanted interface{ Unwanted() bool }

func isUnwanted(err error) bool {
	u, ok := errors.AsType[interface {
		error
		unwanted
	}](err)
	return ok && u.Unwanted() || isRevoked(err)
}

// revoked is how a master's refusal says that an administrator has revoked the agent.
type revoked interface{ Revoked() bool }

func isRevoked(err error) bool {
	r, ok := errors.AsType[interface {
		error
		revoked
	}](err)
	return ok && r.Revoked()
}

func isCapacity(err error) bool {
	k := cloud.KindOf(err)
	return k == cloud.Quota || k == cloud.NoCapacity
}
