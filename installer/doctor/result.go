package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
)

// Passed returns the result of a check that passed; found is a format.
func Passed(found string, args ...any) Result {
	return Result{Answer: Pass, Found: fmt.Sprintf(found, args...)}
}

// Failed returns the result of a check that failed.
func Failed(found, needed, fix string) Result {
	return Result{Answer: Fail, Found: found, Needed: needed, Fix: fix}
}

// Unsure returns the result of a check that found a possible problem.
func Unsure(found, needed, fix string) Result {
	return Result{Answer: Unknown, Found: found, Needed: needed, Fix: fix}
}

// FromError returns the result of a check that could not be made. A missing read permission does
// not stop an operation, because the call that needs the permission fails by itself.
func FromError(err error, needed string) Result {
	fix := ""
	if h, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		fix = h.Hint()
	}
	switch cloud.KindOf(err) {
	case cloud.NotFound, cloud.Invalid:
		return Failed(err.Error(), needed, fix)
	case cloud.Denied, cloud.Unknown, cloud.Unavailable, cloud.RateLimited, cloud.Ambiguous, cloud.Conflict, cloud.Quota, cloud.NoCapacity:
	}
	return Unsure(err.Error(), needed, fix)
}

// Existing returns a check that reports an error unless a resource that the user provides exists.
func Existing(name, fix string, look func(ctx context.Context) error) Check {
	return Check{Name: name, Look: func(ctx context.Context) Result {
		if err := look(ctx); err != nil {
			r := FromError(err, "an existing resource that you may use")
			if r.Fix == "" {
				r.Fix = fix
			}
			return r
		}
		return Passed("exists")
	}}
}

// skewLimit is the clock skew from which clouds reject signatures.
const skewLimit = 5 * time.Minute

// Clock compares the clock of this machine with that of a cloud; by is the name of the cloud.
func Clock(ours, theirs time.Time, by, needed string) Result {
	skew := ours.Sub(theirs).Round(time.Second)
	if skew.Abs() > skewLimit {
		return Failed(fmt.Sprintf("this machine's clock is %s off", skew), needed, "set the clock, for example with `timedatectl set-ntp true`")
	}
	return Passed("%s off %s's", skew, by)
}
