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

// How long before Google says that it interrupts a machine.
// https://cloud.google.com/compute/docs/instances/preemptible
// https://cloud.google.com/compute/docs/instances/host-maintenance-overview
const (
	preemptionLead     = 30 * time.Second
	maintenanceLead    = time.Minute
	gpuMaintenanceLead = time.Hour
)

// awaitFor is how long the server is asked to wait for a change.
const awaitFor = 50 * time.Second

// Notices reads what Google announces for a machine. Calls must not overlap.
type Notices struct {
	server metadata.Server
	now    func() time.Time
	values []*watched
	// seenAll is true once each value was read and told.
	seenAll bool
}

// watched is one value of the metadata that announces something.
type watched struct {
	key string
	// announces returns the reason of a notice, if the value is one.
	announces func(value string) (reason string, ok bool)
	lead      time.Duration
	// tag is that of the last value seen; it is empty before the first.
	tag    string
	notice *machine.Notice
}

// NewNotices returns a reader that has seen nothing yet.
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

// isMaintenance leaves out what moves a machine while it runs.
func isMaintenance(value string) (string, bool) {
	return "host maintenance: " + value, value == "TERMINATE_ON_HOST_MAINTENANCE"
}

// Read lists the notices that are out. Once it has seen all values, it returns when one
// changes, or after a while. Where one cannot be read, the others are returned with the
// error.
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

// readUnseen reads the values of which nothing is known.
func (n *Notices) readUnseen(ctx context.Context) error {
	var errs []error
	for _, w := range n.values {
		if w.tag == "" {
			errs = append(errs, n.readValue(ctx, w, 0))
		}
	}
	return errors.Join(errs...)
}

// awaitChange asks for all values at once, until the first of them has changed.
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
				errs[i] = nil // another one has changed
			}
			if errs[i] != nil || w.tag != known {
				stop()
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// readValue reads a value: once it has changed, or after the wait. A notice is out from
// the moment on that it was first seen.
func (n *Notices) readValue(ctx context.Context, w *watched, wait time.Duration) error {
	value, tag, err := n.server.Await(ctx, w.key, w.tag, wait)
	if cloud.KindOf(err) == cloud.NotFound {
		return nil // this machine has no such value
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
