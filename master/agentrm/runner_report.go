package agentrm

import (
	"context"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
)

// report is an event of a container that is not stored yet.
type report struct {
	container *container
	// change is its new state, which implies that its agent has it on disk; nil reports only the latter.
	change *agentv1.Change
	// done is called when it is stored.
	done func()
}

// receiptAlone is the time that the receipt of a start waits for the agent's next report about the
// container, with which it is stored. The delay is safe because nothing depends on a receipt, and agents
// repeat it.
const receiptAlone = 50 * time.Millisecond

// noteReceived records and stores that the agent has a container on its disk. The caller holds mu.
func (r *runner) noteReceived(c *container) {
	if c.received {
		return
	}
	c.markReceived()
	r.addReport(report{container: c})
}

// addReport queues a report to be stored together with the other reports of its allocation. The caller
// holds mu.
func (r *runner) addReport(one report) {
	a := one.container.allocation
	a.reports = append(a.reports, one)
	if one.change == nil {
		time.AfterFunc(receiptAlone, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.storeSoon(a)
		})
		return
	}
	r.storeSoon(a)
}

// storeSoon queues the write of an allocation's reports. The caller holds mu.
func (r *runner) storeSoon(a *allocation) {
	if a.storing || len(a.reports) == 0 {
		return
	}
	a.storing = true
	r.work.Add(a.laneName(), func(ctx context.Context) time.Duration { return r.storeReports(ctx, a) })
}

// digest is the combined effect of reports.
type digest struct {
	reports []report
	// states are the new states; changes has the same for the owner.
	states  map[*container]apiv1.Container_State
	changes []rm.ContainerChange
	// end is set when nothing of the allocation is left.
	end *rm.End
	// also writes the allocation's own record; nil if it is unchanged.
	also func(*store.Tx) error
}

// storeReports stores the reports of an allocation in its owner's records and its own before it
// acknowledges them to the agents. It may be repeated at any point.
func (r *runner) storeReports(ctx context.Context, a *allocation) time.Duration {
	d := r.digestReports(a)
	if len(d.changes) > 0 || d.end != nil || d.also != nil {
		if err := r.tasks.ReportedWith(ctx, a.Allocation, d.changes, d.end, d.also); err != nil {
			return r.logRetry(ctx, "store reports", a, err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.applyReports(a, d)
	a.reports, a.storing = slices.Clone(a.reports[len(d.reports):]), false
	r.storeSoon(a)
	return 0
}

func (r *runner) digestReports(a *allocation) digest {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := digest{reports: slices.Clone(a.reports), states: make(map[*container]apiv1.Container_State)}
	if a.phase == Over {
		return d
	}
	stateOf := func(c *container) apiv1.Container_State { return max(c.state, d.states[c]) }
	keep := false
	for _, one := range d.reports {
		c := one.container
		if one.change == nil {
			keep = true
			continue
		}
		if to := one.change.GetState(); to > stateOf(c) { // states only advance
			d.changes, d.states[c] = append(d.changes, r.describeChange(c, one.change)), to
			keep = keep || to == apiv1.Container_STATE_TERMINATED || !c.received
		}
	}
	left := slices.ContainsFunc(a.containers, func(c *container) bool { return stateOf(c) != apiv1.Container_STATE_TERMINATED })
	switch {
	case !left:
		end := a.describeEnd()
		d.end, d.also = &end, dropAllocation(a.Allocation)
	case keep:
		doc := a.toDoc()
		for i, c := range a.containers {
			doc.Containers[i].State = stateOf(c).String()
			doc.Containers[i].Received = c.received || d.states[c] != apiv1.Container_STATE_UNSPECIFIED
		}
		d.also = replaceAllocation(a.Allocation, doc)
	}
	return d
}

// applyReports applies reports that have been stored. The caller holds mu.
func (r *runner) applyReports(a *allocation, d digest) {
	for c, to := range d.states {
		c.state = to
		c.markReceived()
		if c.hasEnded() {
			r.streams.EndContainer(c.id, c.givenUp)
		}
		if agent := r.agents[c.agent]; c.hasEnded() && agent != nil {
			delete(agent.containers, c.id)
			r.passes.Wake()
		}
	}
	if d.end != nil {
		r.forgetAllocation(a)
	}
	for _, one := range d.reports {
		if one.change != nil {
			c := one.container
			c.stored = max(c.stored, one.change.GetState())
			if one.change.GetState() == apiv1.Container_STATE_TERMINATED {
				r.agents[c.agent].sendMessage(ackOf(one.change))
			}
		}
		if one.done != nil {
			one.done()
		}
	}
}
