// Package exit defines the exit codes of det-deploy and maps errors to them, so that scripts need not
// parse messages.
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

// The exit codes. `task run` passes the code of the task through.
const (
	// Done reports success.
	Done Code = 0
	// Error reports a failure; the message suggests a remedy.
	Error Code = 1
	// Usage reports an invalid command line; nothing was tried.
	Usage Code = 2
	// Interrupted reports that a signal or a lost lease stopped a plan between two steps. Running the
	// command again continues it.
	Interrupted Code = 3
	// Denied reports that a platform or a master denied access.
	Denied Code = 4
	// Capacity reports that a platform lacks capacity for a type of machine, or that a quota of the
	// account is exhausted.
	Capacity Code = 5
	// Unwanted reports that a master rejects this machine as an agent. Restarting the agent does not help.
	Unwanted Code = 6
	// NotTheTask is the exit code of `task run` and the like if det-deploy or the cluster failed, and not the task.
	// docker run, timeout and xargs reserve the same code.
	NotTheTask Code = 125
	// Canceled reports that a signal ended a command that has no plan to continue. Shells use the same code
	// for a program that Ctrl-C ended.
	Canceled Code = 130
)

// Rule maps errors to an exit code.
type Rule struct {
	Code Code
	// Name identifies the code in JSON.
	Name string
	// Means describes the code in the documentation.
	Means string
	// is reports whether the rule matches an error; nil matches none.
	is func(error) bool
}

// Rules returns the rules in the order of evaluation.
func Rules() []Rule {
	return []Rule{
		{Done, "done", "Success. The requested state is reached, even if nothing had to be changed.", nil},
		{Usage, "usage", "The command line is invalid; nothing was tried.", isUsage},
		{Interrupted, "interrupted", "A signal stopped a plan between two steps, and running the command again continues it.", isInterrupted},
		{Canceled, "canceled", "Ctrl-C or SIGTERM ended any other command, without a message. At a question, it says that nothing was changed.", isCanceled},
		{Denied, "denied", "A platform or a master denied access: missing permission, or not logged in.", isDenied},
		{Capacity, "capacity", "A platform has no capacity for the machine type, or a quota is exhausted.", isCapacity},
		{Unwanted, "unwanted", "`agent run` only: the master rejects this machine. Restarting the agent does not help.", isUnwanted},
		{NotTheTask, "not_the_task", "`task run`, `task rerun`, `task exec` and `task logs --exit-code` only: det-deploy or the cluster failed, not the task or its program. All other codes are those of the task or the program.", nil},
		{Error, "error", "Failure. The message contains the reason and a remedy.", nil},
	}
}

// status is an error with an explicit exit code.
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

// With returns err with an explicit exit code. If err is nil, no message is printed.
func With(code Code, err error) error {
	return &status{code, err}
}

// Followed returns the error of a command that shows something until it is interrupted. Once ctx is done,
// that is Canceled without a message; otherwise it is err.
func Followed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return With(Canceled, nil)
	}
	return err
}

// Continuing returns the error of a command that carries out a plan, which the same command continues after
// an interruption, unless it was interrupted at a question.
func Continuing(err error) error {
	if errors.Is(err, context.Canceled) && !IsUnanswered(err) {
		return &planError{err}
	}
	return err
}

// planError is the error of an interrupted plan.
type planError struct{ error }

func (e *planError) Unwrap() error { return e.error }

// unanswered is implemented by the error of a question that the user interrupted.
type unanswered interface{ Unanswered() bool }

// IsUnanswered reports whether err is an interruption at a question. Nothing was changed then.
func IsUnanswered(err error) bool {
	u, ok := errors.AsType[interface {
		error
		unanswered
	}](err)
	return ok && u.Unanswered()
}

// Unless returns an error with the code Error and without a message unless ok is true. The output has
// already described the problem.
func Unless(ok bool) error {
	if ok {
		return nil
	}
	return With(Error, nil)
}

// Silent reports whether no message is to be printed for err.
func Silent(err error) bool {
	s, ok := errors.AsType[*status](err)
	return ok && s.err == nil
}

// Of returns the exit code for err.
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

// Name returns the JSON name of c, such as "usage". It returns "task" for the code of a task.
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

// fromFlags is implemented by errors about values that may come from a flag, a variable or a document.
type fromFlags interface{ FromFlags() bool }

func isFromFlags(err error) bool {
	f, ok := errors.AsType[interface {
		error
		fromFlags
	}](err)
	return ok && f.FromFlags()
}

func isInterrupted(err error) bool {
	_, plan := errors.AsType[*planError](err)
	return plan || errors.Is(err, record.ErrLost)
}

func isCanceled(err error) bool { return errors.Is(err, context.Canceled) }

// denied is implemented by the errors of the master's client for requests without a session or permission.
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

// unwanted is implemented by the error of a rejected agent.
type unwanted interface{ Unwanted() bool }

func isUnwanted(err error) bool {
	u, ok := errors.AsType[interface {
		error
		unwanted
	}](err)
	return ok && u.Unwanted() || isRevoked(err)
}

// revoked is implemented by the error of an agent that an administrator has revoked.
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
