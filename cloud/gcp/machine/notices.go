package machine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/metadata"
	"github.com/det-deploy/det-deploy/cloud/machine"
)

// The lead times of Google's interruption notices.
// https://cloud.google.com/compute/docs/instances/preemptible
// https://cloud.google.com/compute/docs/instances/host-maintenance-overview
const (
	preemptionLead     = 30 * time.Second
	maintenanceLead    = time.Minute
	gpuMaintenanceLead = time.Hour
)

// awaitFor is the timeout of a long poll.
const awaitFor = 50 * time.Second

// Notices reads the announcements for an instance. Calls must not overlap.
type Notices struct {
	server metadata.Server
	now    func() time.Time
	values []*watched
	// seenAll is true once every value was read and returned.
	seenAll bool
}

// watched is a metadata value with announcements.
type watched struct {
	key string
	// announces returns the reason of a notice, if the value announces one.
	announces func(value string) (reason string, ok bool)
	lead      time.Duration
	// tag is the ETag of the last value. It is empty before the first read.
	tag    string
	notice *machine.Notice
}

// NewNotices returns a reader that has read no values yet.
func NewNotices(s metadata.Server, hasGPU bool, now func() time.Time) *Notices {
	lead := maintenanceLead
	if hasGPU {
		lead = gpuMaintenanceLead
	}
	return &Notices{server: s, now: now, values: []*watched{
		{key: "instance/preempted", announces: isPreempted, lead: preemptionLead},
		{key: "instance/maintenance-event", announces: isMaintenance, lead: lead},
	}}
}

func isPreempted(value string) (string, bool) { return "spot preemption", value == "TRUE" }

// isMaintenance reports whether a maintenance event terminates the instance. It ignores live
// migrations.
func isMaintenance(value string) (string, bool) {
	return "host maintenance: " + value, value == "TERMINATE_ON_HOST_MAINTENANCE"
}

// Read returns the pending notices. Once it has read all values, it waits until one changes or a
// timeout passes. If a value cannot be read, it returns the other notices together with the error.
func (n *Notices) Read(ctx context.Context) ([]machine.Notice, error) {
	err := n.readUnseen(ctx)
	if err == nil && n.seenAll {
		err = n.awaitChange(ctx)
	}
	if err == nil {
		n.seenAll = !slices.ContainsFunc(n.values, func(w *watched) bool { return w.tag == "" })
	}
	var out []machine.Notice
	for _, w := range n.values {
		if w.notice != nil {
			out = append(out, *w.notice)
		}
	}
	return out, err
}

// readUnseen reads the values that were not read yet.
func (n *Notices) readUnseen(ctx context.Context) error {
	var errs []error
	for _, w := range n.values {
		if w.tag == "" {
			errs = append(errs, n.readValue(ctx, w, 0))
		}
	}
	return errors.Join(errs...)
}

// awaitChange polls all values concurrently until the first one changes.
func (n *Notices) awaitChange(ctx context.Context) error {
	one, stop := context.WithCancel(ctx)
	defer stop()
	errs := make([]error, len(n.values))
	var all sync.WaitGroup
	for i, w := range n.values {
		all.Go(func() {
			known := w.tag
			errs[i] = n.readValue(one, w, awaitFor)
			if errs[i] != nil && one.Err() != nil && ctx.Err() == nil {
				errs[i] = nil // another value has changed
			}
			if errs[i] != nil || w.tag != known {
				stop()
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// readValue reads a value after it has changed or after the wait. The lead time of a notice counts
// from its first read.
func (n *Notices) readValue(ctx context.Context, w *watched, wait time.Duration) error {
	value, tag, err := n.server.Await(ctx, w.key, w.tag, wait)
	if cloud.KindOf(err) == cloud.NotFound {
		return nil // this instance does not have the value
	}
	if err != nil {
		return err
	}
	if w.tag != tag {
		w.notice = nil
		if reason, ok := w.announces(value); ok {
			w.notice = &machine.Notice{Kind: machine.Interruption, At: n.now().Add(w.lead), Reason: reason}
		}
	}
	w.tag = tag
	return nil
}
