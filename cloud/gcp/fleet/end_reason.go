package fleet

import (
	"context"
	"path"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
)

// endReason is the reason why an instance has stopped.
type endReason struct {
	text string
	kind cloud.Kind
}

// preempted is the type of the operation by which Google preempts a Spot VM.
const preempted = "compute.instances.preempted"

// ownOperations is the prefix of the types of operations that no API call started, such as a host
// error or a guest shutdown.
const ownOperations = "compute.instances."

// explainEnd returns the reason for an instance's stop as reported by Google, and its kind. It
// reads them from the zone's operations, once per instance. It returns nothing if the caller lacks
// the permission to list operations.
func (f *Fleet) explainEnd(ctx context.Context, i *compute.Instance) (string, cloud.Kind) {
	id := cloud.InstanceID(i.Name)
	f.mu.Lock()
	known, skip := f.ends[id], f.noEnds
	f.mu.Unlock()
	if known == nil && !skip {
		known = f.findEnd(ctx, i)
	}
	if known == nil {
		return "", ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ends[id] = known
	return known.text, known.kind
}

// skipEnd prevents looking up the reason for an instance that the pool itself terminates.
func (f *Fleet) skipEnd(id cloud.InstanceID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ends[id] == nil {
		f.ends[id] = &endReason{}
	}
}

func (f *Fleet) findEnd(ctx context.Context, i *compute.Instance) *endReason {
	all, err := api.List(ctx, f.clients.Compute.ZoneOperations.List(f.clients.Project, path.Base(i.Zone)).Filter(`targetLink="`+i.SelfLink+`"`), func(p *compute.OperationList) []*compute.Operation { return p.Items })
	if err != nil {
		f.cfg.Log.WarnContext(ctx, "cannot read why a machine stopped", "pool", f.cfg.Pool, "instance_id", i.Name, "err", err)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.noEnds = f.noEnds || cloud.KindOf(err) == cloud.Denied
		return nil
	}
	all = slices.DeleteFunc(all, func(o *compute.Operation) bool {
		return o.TargetLink != i.SelfLink || !strings.HasPrefix(o.OperationType, ownOperations)
	})
	if len(all) == 0 {
		return &endReason{text: i.StatusMessage}
	}
	last := slices.MaxFunc(all, func(a, b *compute.Operation) int { return strings.Compare(a.InsertTime, b.InsertTime) })
	return describeEnd(last)
}

func describeEnd(o *compute.Operation) *endReason {
	e := &endReason{text: o.OperationType}
	if o.StatusMessage != "" {
		e.text += ": " + o.StatusMessage
	}
	if o.OperationType == preempted {
		e.kind = cloud.NoCapacity
	}
	return e
}
