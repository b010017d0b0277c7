package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	gax "github.com/googleapis/gax-go/v2"
	"google.golang.org/api/googleapi"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// Limits of the attempts of one call. Throttled calls are tried longer, with pauses that take up to
// a minute and a half. Failures of other kinds end a call sooner, because users wait for the error
// of a network that is down.
const (
	attempts = 10
	failures = 5
)

// longestPause is the maximum pause between two attempts, also if Google asks for a longer one.
const longestPause = 16 * time.Second

// retrier decides about the attempts of one call.
type retrier struct {
	made, failed int
	backoff      gax.Backoff
}

func newRetrier() *retrier {
	return &retrier{backoff: gax.Backoff{Initial: time.Second, Max: longestPause, Multiplier: 2}}
}

// awaitNext counts an attempt that failed with err, and waits until the next one. It returns false if
// another attempt may apply the call's effect twice or cannot succeed, and an error if the caller
// stopped the wait.
func (t *retrier) awaitNext(ctx context.Context, r row, err error) (again bool, stopped error) {
	t.made++
	if !isThrottled(err) {
		t.failed++
	}
	if t.made >= attempts || t.failed >= failures || !isWorthAnother(ctx, r, err) {
		return false, nil
	}
	pause := min(max(t.backoff.Pause(), retryAfter(err)), longestPause)
	if stopped := wait.ForWanted(ctx, pause); stopped != nil {
		return false, stopped
	}
	return true, nil
}

// isWorthAnother reports whether a retry may succeed and cannot apply the call's effect twice.
func isWorthAnother(ctx context.Context, r row, err error) bool {
	kind := cloud.KindOf(err)
	return ctx.Err() == nil && (kind.Transient() || kind == cloud.Ambiguous && r.isRepeatable())
}

// isThrottled reports whether Google asks for fewer calls: by a code or by status 503.
func isThrottled(err error) bool {
	e, answered := errors.AsType[*googleapi.Error](err)
	return cloud.KindOf(err) == cloud.RateLimited || answered && e.Code == http.StatusServiceUnavailable
}

// retryAfter returns the pause that Google asks for, or 0.
func retryAfter(err error) time.Duration {
	e, answered := errors.AsType[*googleapi.Error](err)
	if !answered {
		return 0
	}
	seconds, err := strconv.Atoi(e.Header.Get("Retry-After"))
	if err != nil { // absent, or a date
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// isConditional reports whether a request has its effect only on a certain version of an object, so that
// a second one fails after the first.
func isConditional(r *http.Request) bool {
	q := r.URL.Query()
	return q.Has("ifGenerationMatch") || q.Has("ifMetagenerationMatch")
}
