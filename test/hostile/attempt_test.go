package hostile_test

import (
	"context"
	"fmt"
)

// who is the attacker.
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

// attempt is one try to get what one may not have.
type attempt struct {
	name  string
	who   who
	where where
	// wants is what would be gained; attempts that want the same share a row in
	// docs/security.md.
	wants string
	try   func(ctx context.Context, w *world) outcome
	// control is the same done by somebody who may. Without it, a request that does
	// not reach its aim could not be told from one that is refused.
	control *control
}

// control shows that something can be done at all. It is run once, after all
// attempts, and must succeed.
type control struct {
	name string
	run  func(ctx context.Context, w *world) outcome
}

type verdict string

const (
	refused   verdict = "refused"
	succeeded verdict = "succeeded"
	// untried is that the attempt could not be made.
	untried verdict = "untried"
)

// outcome is what an attempt came to.
type outcome struct {
	verdict verdict
	// why is the evidence: the answer, the log.
	why string
}

func isRefused(format string, args ...any) outcome {
	return outcome{refused, fmt.Sprintf(format, args...)}
}

func isSucceeded(format string, args ...any) outcome {
	return outcome{succeeded, fmt.Sprintf(format, args...)}
}

func isUntried(err error) outcome { return outcome{untried, err.Error()} }

// gained is succeeded when the attacker has what was wanted.
func gained(yes bool, format string, args ...any) outcome {
	if yes {
		return isSucceeded(format, args...)
	}
	return isRefused(format, args...)
}
