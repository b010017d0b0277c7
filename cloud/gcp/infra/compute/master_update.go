package compute

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/owner"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// fixDrift changes what it can while the machine runs, and its type and account between a
// stop and a start.
func (m *Master) fixDrift(ctx context.Context, drift []resource.Drift) error {
	fixes := map[string]func(context.Context) error{
		tagsPath: m.setTags,
		protectionPath: func(ctx context.Context) error {
			return m.In.Clients.Instances.SetDeletionProtection(ctx, m.Identity(), true)
		},
		rootPath: m.growRoot,
		dataPath: func(ctx context.Context) error {
			return m.In.Clients.Instances.AttachDisk(ctx, m.Identity(), m.dataDisk())
		},
	}
	for _, d := range drift {
		if fix := fixes[d.Path]; fix != nil {
			if err := fix(ctx); err != nil {
				return err
			}
		}
	}
	if slices.ContainsFunc(drift, func(d resource.Drift) bool { return strings.HasPrefix(d.Path, metadataPath) }) {
		if err := m.setMetadata(ctx); err != nil {
			return err
		}
	}
	return m.changeStopped(ctx, drift)
}

// changeStopped stops the machine if that is needed, changes what is then changed, and
// starts it. One that an earlier run has begun to remove is made again.
func (m *Master) changeStopped(ctx context.Context, drift []resource.Drift) error {
	has := func(path string) bool {
		return slices.ContainsFunc(drift, func(d resource.Drift) bool { return d.Path == path })
	}
	if !has(typePath) && !has(accountPath) && !has(statePath) {
		return nil
	}
	instances := m.In.Clients.Instances
	err := settleMachine(ctx, m.In, m.Identity(), instances.Stop)
	switch {
	case cloud.KindOf(err) == cloud.NotFound:
		return m.createMaster(ctx, "")
	case err != nil:
		return err
	}
	if has(typePath) {
		if err := instances.SetMachineType(ctx, m.Identity(), &compute.InstancesSetMachineTypeRequest{MachineType: m.typePath()}); err != nil {
			return err
		}
	}
	if has(accountPath) {
		if err := m.setAccount(ctx); err != nil {
			return err
		}
	}
	return settleMachine(ctx, m.In, m.Identity(), instances.Start)
}

// setAccount gives it another account, as soon as Compute Engine knows that.
func (m *Master) setAccount(ctx context.Context) error {
	in := &compute.InstancesSetServiceAccountRequest{Email: m.accountEmail(), Scopes: m.Scopes}
	return m.In.Waiter().RetryUntilKnown(ctx, m.ID(), func() error {
		return m.In.Clients.Instances.SetServiceAccount(ctx, m.Identity(), in)
	})
}

func (m *Master) setTags(ctx context.Context) error {
	return m.changeRead(ctx, func(live *compute.Instance) error {
		tags := &compute.Tags{Items: m.Tags}
		if live.Tags != nil {
			tags.Fingerprint = live.Tags.Fingerprint
		}
		return m.In.Clients.Instances.SetTags(ctx, m.Identity(), tags)
	})
}

// setMetadata sets the wanted metadata beside what else is there.
func (m *Master) setMetadata(ctx context.Context) error {
	return m.changeRead(ctx, func(live *compute.Instance) error {
		md := &compute.Metadata{Items: metadataItems(m.Metadata)}
		if live.Metadata != nil {
			md.Fingerprint = live.Metadata.Fingerprint
			for _, item := range live.Metadata.Items {
				if _, wanted := m.Metadata[item.Key]; !wanted {
					md.Items = append(md.Items, item)
				}
			}
		}
		return m.In.Clients.Instances.SetMetadata(ctx, m.Identity(), md)
	})
}

// changeRead changes the machine by what was read of it: again, when another process
// changed it meanwhile.
func (m *Master) changeRead(ctx context.Context, change func(*compute.Instance) error) error {
	return m.In.Waiter().RetryOn(ctx, m.ID(), infra.ToBeDescribed, cloud.Conflict, func() error {
		live, err := m.In.Clients.Instances.Get(ctx, m.Identity())
		if err != nil {
			return err
		}
		return change(live)
	})
}

// growRoot has its own disk grow; the system takes the room at its next boot.
func (m *Master) growRoot(ctx context.Context) error {
	live, err := m.In.Clients.Instances.Get(ctx, m.Identity())
	if err != nil {
		return err
	}
	return owner.GrowDisk(ctx, m.In, bootDisk(live), m.RootGB)
}
