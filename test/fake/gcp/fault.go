package gcptest

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
)

// Google's own faults. A call that has no operation is not concerned.
const (
	// FailOperation accepts the call, and its operation ends in an error without an
	// effect.
	FailOperation faults.Fault = "fail the operation"
	// ForgetOperation has the call's effect, and its operation is not found.
	ForgetOperation faults.Fault = "forget the operation"
)

// LoseReplyOnce loses only the first reply of a call, so that a client that sends
// the request again meets its own effect.
const LoseReplyOnce faults.Fault = "lose the reply once"

// Faults lists the nine faults and Google's two.
func Faults() []faults.Fault { return append(faults.All(), FailOperation, ForgetOperation) }

// attempt is what the attempts of one call have in common.
type attempt struct {
	fault faults.Fault
	count int
}

// mostAttempts is how often one call is sent at most. The storage client sends an
// upload again for as long as its context lasts.
const mostAttempts = 100

// attempt finds what this attempt of a call has in common with others. Our client and that
// of storage mark them; other calls are the same when they have the same requestId.
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
	if a.count > mostAttempts {
		w.tb.Errorf("gcptest: %s was sent %d times: its client has no end", c.ID, a.count)
		w.Kill()
	}
	return a
}

// before is what fails before a call has its effect.
func (c *call) before() error {
	if c.try != nil { // it continues after a wait
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

// throttled is how a service says that a call came too soon.
// https://cloud.google.com/compute/docs/api/rate-limits
// https://cloud.google.com/storage/docs/json_api/v1/status-codes#429_Too_Many_Requests
func (c *call) throttled() error {
	if c.service.Name == "compute" {
		return refuse(403, "rateLimitExceeded", "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute' of service 'compute.googleapis.com'")
	}
	return refuse(429, "rateLimitExceeded", "Too many requests: %s", strings.TrimPrefix(c.ID, c.service.Name+"."))
}

// after is what fails when a call has had its effect.
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

// behind is how many changes the lists of this call are behind.
func (c *call) behind() int {
	if c.try != nil && c.try.fault == faults.Stale {
		return 1
	}
	return 0
}
