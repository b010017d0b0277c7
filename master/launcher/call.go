package launcher

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/elastic"
)

const (
	// callWait bounds one call to a platform; SDKs give up sooner.
	callWait = 2 * time.Minute
	// unknowns is how often a launch is sent again whose refusal nobody has
	// classified. An answer that was lost is asked for without end.
	unknowns = 3
	// sweepEvery is how often left-overs other than machines are looked for.
	sweepEvery = 24 * time.Hour
)

// call does something on the platform beside the loop, which gets the answer.
// An answer that comes when the loop has stopped is not needed: the ledger has
// what it is about.
func (p *Launcher) call(ctx context.Context, do func(ctx context.Context) (answer func(now time.Time))) {
	p.calls.Go(func() {
		limited, cancel := context.WithTimeout(ctx, callWait)
		defer cancel()
		answer := do(limited)
		select {
		case p.answers <- answer:
		case <-ctx.Done():
		}
	})
}

// callLaunches sends every launch that is written down and not answered.
func (p *Launcher) callLaunches(ctx context.Context, now time.Time) (next time.Time) {
	for _, token := range slices.Sorted(maps.Keys(p.fleet.Launches)) {
		if p.calling[token] || !p.written[token] || !p.fleet.Launches[token].Repeatable(now) {
			continue
		}
		r, again := p.retry[token]
		if r.at.After(now) {
			next = soonest(next, r.at)
			continue
		}
		l := *p.fleet.Launches[token]
		p.calling[token] = true
		if !again && !p.since.IsZero() {
			p.meters.wait.Observe(time.Since(p.since).Seconds())
		}
		p.meters.calls.WithLabelValues("launch").Inc()
		p.log.Info("launching machines", "type", l.Offer.Type, "zone", l.Offer.Zone, "price", l.Offer.Price, "count", l.Count)
		p.call(ctx, func(ctx context.Context) func(time.Time) {
			list, err := p.pool.Instances.Launch(ctx, cloud.Launch{Token: l.Token, Offer: l.Offer, Count: l.Count})
			if err == nil && len(list) == 0 {
				err = &cloud.Error{Kind: cloud.NoCapacity, Err: errors.New("no machine was granted")}
			}
			return func(now time.Time) { p.launched(l, list, err, now) }
		})
	}
	return next
}

// soonest is the first of two times, either of which may be none.
func soonest(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return earlier(a, b)
}

// launched takes in the answer to a launch.
func (p *Launcher) launched(l elastic.Launch, list []cloud.Instance, err error, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.calling, l.Token)
	if err == nil {
		p.note(p.fleet.Granted(l.Token, list, now))
		p.fleet.Grant(l.Offer)
		p.closeLaunch(l.Token)
		return
	}
	kind := kindOf(err)
	r := p.fleet.Refuse(l.Offer, elastic.Refusal{Kind: kind, Text: err.Error(), Fix: fix(err)}, now)
	p.meters.refusals.WithLabelValues(string(kind)).Inc()
	p.log.Warn("machines are refused", "kind", kind, "type", l.Offer.Type, "zone", l.Offer.Zone, "price", l.Offer.Price, "retry_in", r.Until.Sub(now), "err", err)
	again := p.retry[l.Token]
	if kind == cloud.Unknown {
		again.unknown++
	}
	again.doubt = again.doubt || kind == cloud.Ambiguous
	switch after(kind, again) {
	case resend:
		again.at = r.Until
		p.retry[l.Token] = again
	case settle:
		p.fleet.Settle(l.Token, now)
		p.dirt.launches[l.Token] = true
	case closed:
		p.closeLaunch(l.Token)
	}
}

// fate is what becomes of a launch that was refused.
type fate string

const (
	resend fate = "resend" // under its token
	settle fate = "settle" // what it gave, if anything, is listed soon
	closed fate = "closed" // it gave nothing
)

// after says what becomes of a launch. A refusal is about one call. Where an
// earlier call with the same token may have given machines, only the platform's
// word on the launch itself ends it; what keeps the question from being answered
// does not.
func after(k cloud.Kind, r retry) fate {
	switch k {
	case cloud.Ambiguous:
		return resend
	case cloud.Unknown:
		if r.unknown <= unknowns {
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

// fix is what a refusal's author can do about it.
func fix(err error) string {
	if e, ok := errors.AsType[*cloud.Error](err); ok {
		return e.Fix
	}
	return ""
}

// callTerminate ends every machine that is to end, all in one call.
func (p *Launcher) callTerminate(ctx context.Context, now time.Time) (next time.Time) {
	var ids []cloud.InstanceID
	for _, id := range slices.Sorted(maps.Keys(p.fleet.Machines)) {
		m := p.fleet.Machines[id]
		if m.State != elastic.Terminating || !m.Accepted.IsZero() || p.ending[id] || p.dirt.machines[id] {
			continue
		}
		if p.examine(ctx, *m) {
			continue
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return next
	}
	if p.endAfter.After(now) {
		return p.endAfter
	}
	for _, id := range ids {
		p.ending[id] = true
	}
	p.meters.calls.WithLabelValues("terminate").Inc()
	p.call(ctx, func(ctx context.Context) func(time.Time) {
		err := p.pool.Instances.Terminate(ctx, ids)
		return func(now time.Time) { p.terminated(ids, err, now) }
	})
	return next
}

// terminated takes in the answer to a termination.
func (p *Launcher) terminated(ids []cloud.InstanceID, err error, now time.Time) {
	for _, id := range ids {
		delete(p.ending, id)
	}
	p.problem("terminate", err)
	if err != nil {
		p.endAfter = now.Add(pause(p.endFails))
		p.endFails++
		return
	}
	p.endFails, p.endAfter = 0, time.Time{}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range ids {
		if m := p.fleet.Machines[id]; m != nil {
			m.Accepted = now
			p.dirt.machines[id] = true
			p.farewells = append(p.farewells, *m)
		}
	}
}

// pause is how long a call is left alone that has failed that often before.
func pause(fails int) time.Duration {
	return min(time.Second<<min(fails, 10), 5*time.Minute)
}

// callList asks what there is, as seldom as can be.
func (p *Launcher) callList(ctx context.Context, now time.Time) (next time.Time) {
	if p.listing {
		return next
	}
	next = p.fleet.NextList(p.listed, now)
	if p.listFails > 0 {
		next = p.listed.Add(pause(p.listFails))
	}
	if next.After(now) {
		return next
	}
	p.listing = true
	p.meters.calls.WithLabelValues("list").Inc()
	p.call(ctx, func(ctx context.Context) func(time.Time) {
		list, err := p.pool.Instances.List(ctx)
		return func(answered time.Time) { p.saw(list, err, now, answered) }
	})
	return time.Time{}
}

// saw takes in a list.
func (p *Launcher) saw(list []cloud.Instance, err error, asked, now time.Time) {
	p.listing, p.listed = false, now
	p.problem("list", err)
	if err != nil {
		p.listFails++
		return
	}
	p.listFails = 0
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note(p.fleet.See(list, asked, now))
}

// callSweep removes what a platform may have left over beside machines.
func (p *Launcher) callSweep(ctx context.Context, now time.Time) {
	s, can := p.pool.Instances.(cloud.Sweeper)
	if !can || (!p.swept.IsZero() && now.Sub(p.swept) < sweepEvery) {
		return
	}
	p.swept = now
	p.meters.calls.WithLabelValues("sweep").Inc()
	p.call(ctx, func(ctx context.Context) func(time.Time) {
		removed, err := s.Sweep(ctx)
		return func(time.Time) {
			p.problem("sweep", err)
			if len(removed) > 0 {
				p.log.Info("left-overs are removed", "removed", removed)
			}
		}
	})
}
