package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
)

// Passed says what was found.
func Passed(found string, args ...any) Result {
	return Result{Answer: Pass, Found: fmt.Sprintf(found, args...)}
}

// Failed says what was found, what is needed, and what to do.
func Failed(found, needed, fix string) Result {
	return Result{Answer: Fail, Found: found, Needed: needed, Fix: fix}
}

// Unsure is Failed for what may be well.
func Unsure(found, needed, fix string) Result {
	return Result{Answer: Unknown, Found: found, Needed: needed, Fix: fix}
}

// FromError is a check that could not be made. A missing permission to look is no
// reason to stop: the call that needs it will fail by itself.
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

// Existing is a check that something which the user brings is there.
func Existing(name, fix string, look func(ctx context.Context) error) Check {
	return Check{Name: name, Look: func(ctx context.Context) Result {
		if err := look(ctx); err != nil {
			r := FromError(err, "that it exists and may be used")
			if r.Fix == "" {
				r.Fix = fix
			}
			return r
		}
		return Passed("exists")
	}}
}

// skewLimit is when clouds begin to refuse signatures.
const skewLimit = 5 * time.Minute

// Clock compares this machine's clock with that of a cloud, which is called by.
func Clock(ours, theirs time.Time, by, needed string) Result {
	skew := ours.Sub(theirs).Round(time.Second)
	if skew.Abs() > skewLimit {
		return Failed(fmt.Sprintf("this machine's clock is %s off", skew), needed, "set the clock, for example with `timedatectl set-ntp true`")
	}
	return Passed("%s off %s's", skew, by)
}
