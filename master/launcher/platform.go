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
	// callWait bounds one call to a platform; SDKs give up sooner.
	callWait = 2 * time.Minute
	// maxUnknown is how often a launch is sent again whose refusal is not
	// classified. An answer that was lost is asked for without end.
	maxUnknown = 3
	// sweepEvery is how often left-overs other than machines are looked for.
	sweepEvery = 24 * time.Hour
)

// platform is the calls to a pool's platform: which are under way, and which are to be
// made again when. Only run looks at it; calls run beside and hand their answers to run.
type platform struct {
	*state
	answers chan func(now time.Time)
	running sync.WaitGroup

	// Launches by token: those under way, and those whose answer was not an answer.
	calling map[string]bool
	retries map[string]retry
	// Machines whose end, or the look at whose console, is under way, and those whose
	// console was looked at.
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

// retry is a launch whose answer was not an answer.
type retry struct {
	at      time.Time
	unknown int  // answers of no known kind, in a row
	doubt   bool // an earlier call may have given machines
}

// backOff leaves a call alone that fails: ever longer.
type backOff struct {
	fails int
	until time.Time // zero without failures
}

func (b *backOff) fail(now time.Time) {
	b.until = now.Add(backOffAfter(b.fails))
	b.fails++
}

func (b *backOff) reset() { *b = backOff{} }

// backOffAfter is how long a call is left alone that has failed that often before.
func backOffAfter(fails int) time.Duration {
	return min(time.Second<<min(fails, 10), 5*time.Minute)
}

// forgetGone drops what is known of calls for machines and launches that no longer exist.
func (p *platform) forgetGone() {
	gone := func(id cloud.InstanceID, _ bool) bool { return p.fleet.Machines[id] == nil }
	maps.DeleteFunc(p.ending, gone)
	maps.DeleteFunc(p.examined, gone)
	maps.DeleteFunc(p.retries, func(token string, _ retry) bool { return p.fleet.Launches[token] == nil })
}

// restoreMachines tells the platform where the machines are that the ledger has.
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

// startCall does something on the platform beside the loop, which gets the answer.
// An answer that comes when the loop has stopped is not needed: the ledger has
// what it is about.
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

// callLaunches sends every launch that is written down and not answered.
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

// soonestTime is the first of two times, either of which may be none.
func soonestTime(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return earliestTime(a, b)
}

// handleLaunch takes in the answer to a launch.
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

// launchAction is what becomes of a launch that was refused.
type launchAction string

const (
	resend launchAction = "resend" // under its token
	settle launchAction = "settle" // what it gave, if anything, is listed soon
	closed launchAction = "closed" // it gave nothing
)

// actionAfter says what becomes of a launch. A refusal is about one call. Where an
// earlier call with the same token may have given machines, only the platform's
// word on the launch itself ends it; what keeps the question from being answered
// does not.
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
		return closed // tokens are looked up before there is talk of either
	case cloud.Invalid, cloud.NotFound:
	}
	if r.doubt {
		return settle
	}
	return closed
}

// kindOf is the kind of a refusal. A call that was cut off may have had its
// effect.
func kindOf(err error) cloud.Kind {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return cloud.Ambiguous
	}
	return cloud.KindOf(err)
}

// fixOf is what a refusal's author can do about it.
func fixOf(err error) string {
	if e, ok := errors.AsType[*cloud.Error](err); ok {
		return e.Fix
	}
	return ""
}

// callTerminate ends every machine that is to end, all in one call.
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

// handleTermination takes in the answer to a termination.
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

// callList asks what there is, as seldom as can be.
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

// handleList takes in a list.
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

// callSweep removes what a platform may have left over beside machines.
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
