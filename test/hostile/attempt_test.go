package hostile_test

import (
	"context"
	"fmt"
)

// who is the kind of attacker.
type who string

const (
	stranger    who = "a stranger who reaches the port"
	visitor     who = "a web site that a user visits"
	user        who = "an ordinary user"
	former      who = "a former user, or a login that has ended"
	userTask    who = "a user's task"
	adminTask   who = "an administrator's task"
	agent       who = "an agent"
	formerAgent who = "a former agent"
	deceived    who = "a deceived administrator"
	covering    who = "an administrator who covers a trace"
)

// where is the runtime that an attempt needs.
type where string

const (
	anywhere   where = "any"
	process    where = "process"
	docker     where = "docker"
	kubernetes where = "kubernetes"
)

// attempt is one attempt to gain something forbidden.
type attempt struct {
	name  string
	who   who
	where where
	// wants is the intended gain; attempts with the same gain share a row in docs/security.md.
	wants string
	try   func(ctx context.Context, w *world) outcome
	// control is the same operation by an authorized user. Without it, a malformed request could
	// not be distinguished from a rejected one.
	control *control
}

// control shows that an operation is possible. It runs once, after all attempts, and must succeed.
type control struct {
	name string
	run  func(ctx context.Context, w *world) outcome
}

type verdict string

const (
	refused   verdict = "refused"
	succeeded verdict = "succeeded"
	// untried means that the attempt could not be made.
	untried verdict = "untried"
)

// outcome is the result of an attempt.
type outcome struct {
	verdict verdict
	// why is the evidence: the response, the log.
	why string
}

func isRefused(format string, args ...any) outcome {
	return outcome{refused, fmt.Sprintf(format, args...)}
}

func isSucceeded(format string, args ...any) outcome {
	return outcome{succeeded, fmt.Sprintf(format, args...)}
}

func isUntried(err error) outcome { return outcome{untried, err.Error()} }

// gained returns a successful outcome if yes, and a rejected one otherwise.
func gained(yes bool, format string, args ...any) outcome {
	if yes {
		return isSucceeded(format, args...)
	}
	return isRefused(format, args...)
}
