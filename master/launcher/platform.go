package launcher

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/elastic"
)

const (
	// callWait is the timeout of one platform call; SDKs give up sooner.
	callWait = 2 * time.Minute
	// maxUnknown is the number of retries of a launch after an error of unknown kind. Ambiguous errors
	// are retried indefinitely.
	maxUnknown = 3
	// sweepEvery is the interval between searches for leftover resources other than machines.
	sweepEvery = 24 * time.Hour
)

// platform makes the calls to a pool's platform and schedules their retries. Its fields are used by run
// only; calls run concurrently and pass their answers to run.
type platform struct {
	*state
	answers chan func(now time.Time)
	running sync.WaitGroup

	// Launches by token: the outstanding calls, and those to retry.
	calling map[string]bool
	retries map[string]retry
	// Machines with an outstanding termination or console call, and machines whose console was read.
	ending   map[cloud.InstanceID]bool
	examined map[cloud.InstanceID]bool
	endings  backOff

	listing bool
	listed  time.Time
	lists   backOff
	swept   time.Time
}

func newPlatform(s *state) *platform {
	return &platform{
		state: s, answers: make(chan func(time.Time)), calling: make(map[string]bool), retries: make(map[string]retry),
		ending: make(map[cloud.InstanceID]bool), examined: make(map[cloud.InstanceID]bool),
	}
}

// retry is the state of a launch that has to be repeated.
type retry struct {
	at      time.Time
	unknown int  // consecutive errors of unknown kind
	doubt   bool // an earlier call may have launched machines
}

// backOff delays a failing call, longer with each failure.
type backOff struct {
	fails int
	until time.Time // zero without failures
}

func (b *backOff) fail(now time.Time) {
	b.until = now.Add(backOffAfter(b.fails))
	b.fails++
}

func (b *backOff) reset() { *b = backOff{} }

// backOffAfter returns the delay of a call after the given number of earlier failures.
func backOffAfter(fails int) time.Duration {
	return min(time.Second<<min(fails, 10), 5*time.Minute)
}

// forgetGone deletes the state of calls for machines and launches that no longer exist.
func (p *platform) forgetGone() {
	gone := func(id cloud.InstanceID, _ bool) bool { return p.fleet.Machines[id] == nil }
	maps.DeleteFunc(p.ending, gone)
	maps.DeleteFunc(p.examined, gone)
	maps.DeleteFunc(p.retries, func(token string, _ retry) bool { return p.fleet.Launches[token] == nil })
}

// restoreMachines passes the machines in the ledger to the platform, with their zones.
func (p *platform) restoreMachines() {
	r, can := p.pool.Instances.(cloud.Restorer)
	if !can {
		return
	}
	var all []cloud.Instance
	for id, m := range p.fleet.Machines {
		all = append(all, cloud.Instance{ID: id, Offer: m.Offer, Zone: cmp.Or(m.Zone, m.Offer.Zone), Token: m.Token, Launched: m.Launched})
	}
	r.Restore(all)
}

// startCall makes a platform call concurrently with the loop, which receives the answer. An answer that
// comes after the loop has stopped is dropped: the ledger has a record of the operation.
func (p *platform) startCall(ctx context.Context, limit time.Duration, do func(ctx context.Context) (answer func(now time.Time))) {
	p.running.Go(func() {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		answer := do(limited)
		select {
		case p.answers <- answer:
		case <-ctx.Done():
		}
	})
}

// callLaunches sends every stored and unanswered launch that is due. It returns the time of the next
// retry.
func (p *platform) callLaunches(ctx context.Context, since, now time.Time) (next time.Time) {
	for _, token := range slices.Sorted(maps.Keys(p.fleet.Launches)) {
		if p.calling[token] || !p.ledger.written[token] || !p.fleet.Launches[token].Repeatable(now) {
			continue
		}
		r, again := p.retries[token]
		if r.at.After(now) {
			next = soonestTime(next, r.at)
			continue
		}
		l := *p.fleet.Launches[token]
		p.calling[token] = true
		if !again && !since.IsZero() {
			p.meters.wait.Observe(time.Since(since).Seconds())
		}
		p.meters.calls.WithLabelValues("launch").Inc()
		p.log.Info("launching machines", "type", l.Offer.Type, "zone", l.Offer.Zone, "price", l.Offer.Price, "count", l.Count)
		p.startCall(ctx, max(callWait, p.pool.LaunchWait), func(ctx context.Context) func(time.Time) {
			list, err := p.pool.Instances.Launch(ctx, cloud.Launch{Token: l.Token, Offer: l.Offer, Count: l.Count})
			if err == nil && len(list) == 0 {
				err = &cloud.Error{Kind: cloud.NoCapacity, Err: errors.New("no machine was granted")}
			}
			return func(now time.Time) { p.handleLaunch(l, list, err, now) }
		})
	}
	return next
}

// soonestTime returns the earlier of two times; a zero time means never.
func soonestTime(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return earliestTime(a, b)
}

// handleLaunch handles the answer to a launch.
func (p *platform) handleLaunch(l elastic.Launch, list []cloud.Instance, err error, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.calling, l.Token)
	if err == nil {
		p.recordChanges(p.fleet.Granted(l.Token, list, now))
		p.fleet.Grant(l.Offer)
		p.forgetLaunch(l.Token)
		return
	}
	kind := kindOf(err)
	r := p.fleet.Refuse(l.Offer, elastic.Refusal{Kind: kind, Text: err.Error(), Fix: fixOf(err)}, now)
	p.meters.refusals.WithLabelValues(string(kind)).Inc()
	p.log.Warn("launch refused", "kind", kind, "type", l.Offer.Type, "zone", l.Offer.Zone, "price", l.Offer.Price, "retry_in", r.Until.Sub(now), "err", err)
	again := p.retries[l.Token]
	if kind == cloud.Unknown {
		again.unknown++
	}
	again.doubt = again.doubt || kind == cloud.Ambiguous
	switch actionAfter(kind, again) {
	case resend:
		again.at = r.Until
		p.retries[l.Token] = again
	case settle:
		p.fleet.Settle(l.Token, now)
		p.ledger.unsaved.launches[l.Token] = true
	case closed:
		p.forgetLaunch(l.Token)
	}
}

// launchAction is the action after a refused launch.
type launchAction string

const (
	resend launchAction = "resend" // under its token
	settle launchAction = "settle" // its machines, if any, are listed soon
	closed launchAction = "closed" // it launched nothing
)

// actionAfter returns the action after a refused launch. A refusal concerns a single call. If an earlier
// call with the same token may have launched machines, only an error about the launch itself is
// conclusive. An error that merely prevents the retry (throttling, unavailability, permissions) is not.
func actionAfter(k cloud.Kind, r retry) launchAction {
	switch k {
	case cloud.Ambiguous:
		return resend
	case cloud.Unknown:
		if r.unknown <= maxUnknown {
			return resend
		}
	case cloud.RateLimited, cloud.Unavailable, cloud.Denied:
		if r.doubt {
			return resend
		}
	case cloud.Conflict:
		return settle
	case cloud.NoCapacity, cloud.Quota:
		return closed // platforms look up the token before they check either
	case cloud.Invalid, cloud.NotFound:
	}
	if r.doubt {
		return settle
	}
	return closed
}

// kindOf returns the kind of an error. A call that was cut off may have taken effect.
func kindOf(err error) cloud.Kind {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return cloud.Ambiguous
	}
	return cloud.KindOf(err)
}

// fixOf returns the remedy that an error suggests, or "".
func fixOf(err error) string {
	if e, ok := errors.AsType[*cloud.Error](err); ok {
		return e.Fix
	}
	return ""
}

// callTerminate terminates all terminating machines in one call. It returns the time of the next retry.
func (p *platform) callTerminate(ctx context.Context, now time.Time) (next time.Time) {
	var ids []cloud.InstanceID
	for _, id := range slices.Sorted(maps.Keys(p.fleet.Machines)) {
		m := p.fleet.Machines[id]
		if m.State != elastic.Terminating || !m.Accepted.IsZero() || p.ending[id] || p.ledger.unsaved.machines[id] {
			continue
		}
		if p.readConsole(ctx, *m) {
			continue
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return next
	}
	if p.endings.until.After(now) {
		return p.endings.until
	}
	for _, id := range ids {
		p.ending[id] = true
	}
	p.meters.calls.WithLabelValues("terminate").Inc()
	p.startCall(ctx, callWait, func(ctx context.Context) func(time.Time) {
		err := p.pool.Instances.Terminate(ctx, ids)
		return func(now time.Time) { p.handleTermination(ids, err, now) }
	})
	return next
}

// handleTermination handles the answer to a termination.
func (p *platform) handleTermination(ids []cloud.InstanceID, err error, now time.Time) {
	for _, id := range ids {
		delete(p.ending, id)
	}
	p.setProblem("terminate", err)
	if err != nil {
		p.endings.fail(now)
		return
	}
	p.endings.reset()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range ids {
		if m := p.fleet.Machines[id]; m != nil {
			m.Accepted = now
			p.ledger.unsaved.machines[id] = true
			p.removed = append(p.removed, *m)
		}
	}
}

// callList lists the machines if a list is due. It returns the time of the next list.
func (p *platform) callList(ctx context.Context, now time.Time) (next time.Time) {
	if p.listing {
		return next
	}
	next = p.fleet.NextList(p.listed, now)
	if p.lists.fails > 0 {
		next = p.listed.Add(backOffAfter(p.lists.fails))
	}
	if next.After(now) {
		return next
	}
	p.listing = true
	p.meters.calls.WithLabelValues("list").Inc()
	p.startCall(ctx, callWait, func(ctx context.Context) func(time.Time) {
		list, err := p.pool.Instances.List(ctx)
		return func(answered time.Time) { p.handleList(list, err, now, answered) }
	})
	return time.Time{}
}

// handleList handles the answer to a list.
func (p *platform) handleList(list []cloud.Instance, err error, asked, now time.Time) {
	p.listing, p.listed = false, now
	p.setProblem("list", err)
	if err != nil {
		p.lists.fail(now)
		return
	}
	p.lists.reset()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recordChanges(p.fleet.See(list, asked, now))
}

// callSweep removes leftover resources other than machines.
func (p *platform) callSweep(ctx context.Context, now time.Time) {
	s, can := p.pool.Instances.(cloud.Sweeper)
	if !can || (!p.swept.IsZero() && now.Sub(p.swept) < sweepEvery) {
		return
	}
	p.swept = now
	p.meters.calls.WithLabelValues("sweep").Inc()
	p.startCall(ctx, callWait, func(ctx context.Context) func(time.Time) {
		removed, err := s.Sweep(ctx)
		return func(time.Time) {
			p.setProblem("sweep", err)
			if len(removed) > 0 {
				p.log.Info("removed leftover resources", "removed", removed)
			}
		}
	})
}
