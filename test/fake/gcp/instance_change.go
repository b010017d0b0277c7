package gcptest

import (
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"
)

func instanceChangeActs() map[string]act {
	return map[string]act{
		"compute.instances.stop": stopInstance, "compute.instances.start": startInstance, "compute.instances.reset": resetInstance,
		"compute.instances.setMetadata": setMetadata, "compute.instances.setTags": setTags,
		"compute.instances.setDeletionProtection": setDeletionProtection, "compute.instances.setMachineType": setMachineType,
		"compute.instances.setServiceAccount": setServiceAccount,
		"compute.instances.attachDisk":        attachDisk, "compute.instances.detachDisk": detachDisk,
	}
}

// stopInstance: https://cloud.google.com/compute/docs/instances/stop-start-instance
func stopInstance(c *call) (any, error) {
	path, m, err := instances().find(c)
	if err != nil {
		return nil, err
	}
	if c.engine.instances.live[path].going {
		return nil, notReady(path)
	}
	before, since := m.phase, m.since
	m.stop(c.World, nil)
	m.show(c.World)
	return c.operateFor(max(c.opt.Operation, c.opt.Stopping), "stop", path, effect{undo: func() { m.phase, m.since, m.Status = before, since, "RUNNING" }})
}

// startInstance starts a stopped instance. It needs capacity again, so it may fail with a stockout.
func startInstance(c *call) (any, error) {
	path, m, err := instances().find(c)
	if err != nil {
		return nil, err
	}
	if m.Status != "TERMINATED" {
		if m.phase == stopping {
			return nil, notReady(path)
		}
		return c.operate("start", path, effect{})
	}
	return c.operate("start", path, effect{apply: func() *failure {
		if f := c.overQuota(path, m); f != nil {
			return f
		}
		if f := c.stockout(path, m); f != nil {
			return f
		}
		m.phase, m.since, m.preempted = starting, c.now(), false
		m.show(c.World)
		return nil
	}})
}

func resetInstance(c *call) (any, error) {
	path, m, err := instances().find(c)
	if err != nil {
		return nil, err
	}
	if m.Status != "RUNNING" {
		return nil, notReady(path)
	}
	return c.operate("reset", path, effect{})
}

// setMetadata replaces all metadata under the fingerprint that was read.
// https://cloud.google.com/compute/docs/metadata/setting-custom-metadata#direct_api
func setMetadata(c *call) (any, error) {
	path, m, err := instances().find(c)
	if err != nil {
		return nil, err
	}
	md := decode[compute.Metadata](c)
	if md.Fingerprint != "" && md.Fingerprint != m.Metadata.Fingerprint {
		return nil, staleFingerprint()
	}
	if err := checkMetadata(md); err != nil {
		return nil, err
	}
	return c.operate("setMetadata", path, effect{apply: func() *failure {
		m.Metadata = &compute.Metadata{Kind: "compute#metadata", Fingerprint: c.fingerprint(), Items: md.Items}
		return nil
	}})
}

func setTags(c *call) (any, error) {
	path, m, err := instances().find(c)
	if err != nil {
		return nil, err
	}
	tags := decode[compute.Tags](c)
	if tags.Fingerprint != m.Tags.Fingerprint {
		return nil, staleFingerprint()
	}
	return c.operate("setTags", path, effect{apply: func() *failure {
		m.Tags = &compute.Tags{Items: tags.Items, Fingerprint: c.fingerprint()}
		return nil
	}})
}

// setDeletionProtection enables the protection unless the query disables it.
func setDeletionProtection(c *call) (any, error) {
	path, err := instances().path(c, c.params["resource"])
	if err != nil {
		return nil, err
	}
	m, found := c.engine.instances.get(path)
	if !found {
		return nil, notFound(path)
	}
	on := c.query.Get("deletionProtection") != "false"
	return c.operate("setDeletionProtection", path, effect{apply: func() *failure { m.DeletionProtection = on; return nil }})
}

// mustBeStopped returns an error for a change that requires a stopped instance.
// https://cloud.google.com/compute/docs/instances/changing-machine-type-of-stopped-instance
func mustBeStopped(m *machine) error {
	if m.Status != "TERMINATED" {
		return refuse(400, "invalidUsage", "Invalid resource usage: 'The instance must be stopped first (is %s).'", m.Status)
	}
	return nil
}

// setMachineType: https://cloud.google.com/compute/docs/instances/changing-machine-type-of-stopped-instance
func setMachineType(c *call) (any, error) {
	path, m, err := instances().find(c)
	if err != nil {
		return nil, err
	}
	if err := mustBeStopped(m); err != nil {
		return nil, err
	}
	link := decode[compute.InstancesSetMachineTypeRequest](c).MachineType
	kind := c.pathOf(link)
	if _, found := findType(placeOf(path), nameOf(kind)); !found {
		return nil, wrongField("machineType", link, "The machine type does not exist in this zone.")
	}
	return c.operate("setMachineType", path, effect{apply: func() *failure { m.MachineType = linkTo(kind); return nil }})
}

// setServiceAccount: https://cloud.google.com/compute/docs/instances/change-service-account
func setServiceAccount(c *call) (any, error) {
	path, m, err := instances().find(c)
	if err != nil {
		return nil, err
	}
	if err := mustBeStopped(m); err != nil {
		return nil, err
	}
	body := decode[compute.InstancesSetServiceAccountRequest](c)
	if body.Email != "" && !c.accountKnown(body.Email) {
		return nil, refuse(400, "invalid", "The resource '%s' of type 'serviceAccount' was not found.", body.Email)
	}
	return c.operate("setServiceAccount", path, effect{apply: func() *failure {
		m.ServiceAccounts = nil
		if body.Email != "" {
			m.ServiceAccounts = []*compute.ServiceAccount{{Email: body.Email, Scopes: body.Scopes}}
		}
		return nil
	}})
}

func attachDisk(c *call) (any, error) {
	path, m, err := instances().find(c)
	if err != nil {
		return nil, err
	}
	d := decode[compute.AttachedDisk](c)
	d.Kind, d.Index, d.Type, d.Mode = "compute#attachedDisk", int64(len(m.Disks)), "PERSISTENT", orElse(d.Mode, "READ_WRITE")
	if err := c.checkAttach(path, d); err != nil {
		return nil, err
	}
	disk, _ := c.engine.disks.get(strings.TrimPrefix(d.Source, linkBase))
	return c.operate("attachDisk", path, effect{apply: func() *failure {
		m.Disks = append(m.Disks, d)
		disk.Users, disk.LastAttachTimestamp = append(disk.Users, linkTo(path)), c.stamp()
		return nil
	}})
}

// detachDisk: https://cloud.google.com/compute/docs/reference/rest/v1/instances/detachDisk
func detachDisk(c *call) (any, error) {
	path, m, err := instances().find(c)
	if err != nil {
		return nil, err
	}
	name := c.query.Get("deviceName")
	i := slices.IndexFunc(m.Disks, func(d *compute.AttachedDisk) bool { return d.DeviceName == name })
	if i < 0 {
		return nil, invalid("Invalid value for field 'disk': '%s'. No attached disk found with device name '%s'", name, name)
	}
	return c.operate("detachDisk", path, effect{apply: func() *failure {
		if disk, found := c.engine.disks.get(strings.TrimPrefix(m.Disks[i].Source, linkBase)); found {
			c.freeDisk(disk, path)
		}
		m.Disks = slices.Delete(m.Disks, i, i+1)
		return nil
	}})
}
