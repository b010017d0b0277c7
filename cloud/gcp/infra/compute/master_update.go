package compute

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// fixDrift makes the changes that are possible while the instance is running, and stops and starts
// it to change its type and service account.
func (m *Master) fixDrift(ctx context.Context, drift []resource.Drift) error {
	c := m.In.Clients
	zone, name := api.SplitZone(m.Identity())
	fixes := map[string]func(context.Context) error{
		tagsPath: m.setTags,
		protectionPath: func(ctx context.Context) error {
			return api.Run(ctx, c, c.Compute.Instances.SetDeletionProtection(c.Project, zone, name).DeletionProtection(true))
		},
		rootPath: m.growRoot,
		dataPath: func(ctx context.Context) error {
			return api.Run(ctx, c, c.Compute.Instances.AttachDisk(c.Project, zone, name, m.dataDisk()))
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

// changeStopped stops the instance if necessary, makes the changes that require it, and starts it.
// It re-creates an instance that an earlier run has started to delete.
func (m *Master) changeStopped(ctx context.Context, drift []resource.Drift) error {
	has := func(path string) bool {
		return slices.ContainsFunc(drift, func(d resource.Drift) bool { return d.Path == path })
	}
	if !has(typePath) && !has(accountPath) && !has(statePath) {
		return nil
	}
	c := m.In.Clients
	zone, name := api.SplitZone(m.Identity())
	err := retryUntilSettled(ctx, m.In, m.Identity(), func() error { return api.Run(ctx, c, c.Compute.Instances.Stop(c.Project, zone, name)) })
	switch {
	case cloud.KindOf(err) == cloud.NotFound:
		return m.createMaster(ctx, "")
	case err != nil:
		return err
	}
	if has(typePath) {
		in := &compute.InstancesSetMachineTypeRequest{MachineType: m.typePath()}
		if err := api.Run(ctx, c, c.Compute.Instances.SetMachineType(c.Project, zone, name, in)); err != nil {
			return err
		}
	}
	if has(accountPath) {
		if err := m.setAccount(ctx); err != nil {
			return err
		}
	}
	return retryUntilSettled(ctx, m.In, m.Identity(), func() error { return api.Run(ctx, c, c.Compute.Instances.Start(c.Project, zone, name)) })
}

// setAccount replaces the service account as soon as Compute Engine knows the new one.
func (m *Master) setAccount(ctx context.Context) error {
	c := m.In.Clients
	zone, name := api.SplitZone(m.Identity())
	in := &compute.InstancesSetServiceAccountRequest{Email: m.accountEmail(), Scopes: m.Scopes}
	return m.In.Waiter().RetryUntilKnown(ctx, m.ID(), func() error {
		return api.Run(ctx, c, c.Compute.Instances.SetServiceAccount(c.Project, zone, name, in))
	})
}

func (m *Master) setTags(ctx context.Context) error {
	c := m.In.Clients
	zone, name := api.SplitZone(m.Identity())
	return m.changeRead(ctx, func(live *compute.Instance) error {
		tags := &compute.Tags{Items: m.Tags}
		if live.Tags != nil {
			tags.Fingerprint = live.Tags.Fingerprint
		}
		return api.Run(ctx, c, c.Compute.Instances.SetTags(c.Project, zone, name, tags))
	})
}

// setMetadata sets the wanted metadata and keeps other keys.
func (m *Master) setMetadata(ctx context.Context) error {
	c := m.In.Clients
	zone, name := api.SplitZone(m.Identity())
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
		return api.Run(ctx, c, c.Compute.Instances.SetMetadata(c.Project, zone, name, md))
	})
}

// changeRead applies a change based on the current state. It repeats both if another process has
// changed the instance in between.
func (m *Master) changeRead(ctx context.Context, change func(*compute.Instance) error) error {
	return m.In.Waiter().RetryOn(ctx, m.ID(), infra.ToBeDescribed, cloud.Conflict, func() error {
		live, err := m.read(ctx)
		if err != nil {
			return err
		}
		return change(live)
	})
}

// read returns the current instance.
func (m *Master) read(ctx context.Context) (*compute.Instance, error) {
	zone, name := api.SplitZone(m.Identity())
	return api.Do(ctx, m.In.Clients.Compute.Instances.Get(m.In.Clients.Project, zone, name))
}

// growRoot grows the boot disk. The operating system extends the file system at its next boot.
func (m *Master) growRoot(ctx context.Context) error {
	live, err := m.read(ctx)
	if err != nil {
		return err
	}
	return mark.GrowDisk(ctx, m.In, bootDisk(live), m.RootGB)
}
