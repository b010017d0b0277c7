package gcptest

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
)

// Faults specific to Google's operations. They do not affect calls without an operation.
const (
	// FailOperation accepts the call; its operation fails without an effect.
	FailOperation faults.Fault = "fail the operation"
	// ForgetOperation performs the call; its operation is not found.
	ForgetOperation faults.Fault = "forget the operation"
)

// LoseReplyOnce loses only the first response to a call, so that a repeated request finds its own
// effect.
const LoseReplyOnce faults.Fault = "lose the reply once"

// Faults returns the nine common faults and the two of Google's operations.
func Faults() []faults.Fault { return append(faults.All(), FailOperation, ForgetOperation) }

// attempt is the common state of all attempts of one call.
type attempt struct {
	fault faults.Fault
	count int
}

// mostAttempts is the maximum number of attempts of a call. The storage client repeats an upload
// until its context is done.
const mostAttempts = 100

// attempt returns the state shared by all attempts of a call. det-deploy's client and the storage
// client mark their attempts with an idempotency token; other calls are identified by their
// requestId.
func (c *call) attempt() *attempt {
	w := c.World
	id := cmp.Or(c.request.Header.Get("X-Goog-Gcs-Idempotency-Token"), c.query.Get("requestId"))
	a := w.attempts[id]
	if a == nil || id == "" {
		a = &attempt{}
		if id != "" {
			w.attempts[id] = a
		}
	}
	if a.count++; a.count == 1 {
		a.fault = w.Next(c.ID, c.changes())
	}
	if storm, on := w.NextInStorm(a.count); on {
		a.fault = storm
	}
	if a.count > mostAttempts {
		w.tb.Errorf("gcptest: %s was sent %d times: its client has no end", c.ID, a.count)
		w.Kill()
	}
	return a
}

// before injects faults before a call has its effect.
func (c *call) before() error {
	if c.try != nil { // the call continues after a wait
		return nil
	}
	c.try = c.attempt()
	switch c.try.fault {
	case faults.Refuse:
		return refuse(400, "injected", "refused")
	case faults.Throttle:
		return c.throttled()
	case faults.ThrottleOnce:
		if c.try.count == 1 {
			return c.throttled()
		}
	case faults.Break:
		return refuse(500, "internalError", "Internal error. Please try again or contact Google Support.")
	case faults.LoseRequest:
		return lost(fmt.Errorf("%w: the request was lost", faults.ErrInjected))
	case faults.KillBefore:
		c.Kill()
		return faults.ErrKilled
	case faults.LoseReply, faults.KillAfter, faults.Stale, FailOperation, ForgetOperation, LoseReplyOnce:
	}
	return nil
}

// throttled returns the service's error for exceeding a rate limit.
// https://cloud.google.com/compute/docs/api/rate-limits
// https://cloud.google.com/storage/docs/json_api/v1/status-codes#429_Too_Many_Requests
func (c *call) throttled() error {
	if c.service.Name == "compute" {
		return refuse(403, "rateLimitExceeded", "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute' of service 'compute.googleapis.com'")
	}
	return refuse(429, "rateLimitExceeded", "Too many requests: %s", strings.TrimPrefix(c.ID, c.service.Name+"."))
}

// after injects faults after a call has had its effect.
func (c *call) after() error {
	switch c.try.fault {
	case faults.LoseReply:
		return lost(fmt.Errorf("%w: the reply was lost", faults.ErrInjected))
	case LoseReplyOnce:
		if c.try.count == 1 {
			return lost(fmt.Errorf("%w: the reply was lost", faults.ErrInjected))
		}
	case faults.KillAfter:
		c.Kill()
		return faults.ErrKilled
	case faults.Refuse, faults.Throttle, faults.ThrottleOnce, faults.Break, faults.LoseRequest, faults.KillBefore, faults.Stale, FailOperation, ForgetOperation:
	}
	return nil
}

// behind returns the number of changes by which the lists of this call are stale.
func (c *call) behind() int {
	if c.try != nil && c.try.fault == faults.Stale {
		return 1
	}
	return 0
}
