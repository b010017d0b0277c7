package gcptest

import (
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"
)

// completeDisks creates the new disks of an instance and finds the existing ones. The first disk is
// the boot disk. https://cloud.google.com/compute/docs/reference/rest/v1/instances/insert (disks)
func (c *call) completeDisks(path string, m *machine) error {
	if len(m.Disks) == 0 || !m.Disks[0].Boot {
		return wrongField("disks[0].boot", "", "The first disk must be a boot disk.")
	}
	names := make(map[string]bool)
	for i, d := range m.Disks {
		if i > 0 && d.Boot {
			return wrongField("disks["+decimal(i)+"].boot", "true", "Only the first disk boots.")
		}
		d.Kind, d.Index, d.Type, d.Mode = "compute#attachedDisk", int64(i), orElse(d.Type, "PERSISTENT"), orElse(d.Mode, "READ_WRITE")
		d.Interface = orElse(d.Interface, "SCSI")
		if err := c.completeDisk(path, m, d); err != nil {
			return err
		}
		if names[d.DeviceName] {
			return wrongField("disks["+decimal(i)+"].deviceName", d.DeviceName, "The device name is used twice.")
		}
		names[d.DeviceName] = true
	}
	return nil
}

// completeDisk: https://cloud.google.com/compute/docs/reference/rest/v1/instances/insert (disks[])
func (c *call) completeDisk(path string, m *machine, d *compute.AttachedDisk) error {
	scope := strings.Join(strings.Split(path, "/")[:4], "/")
	if d.Type == "SCRATCH" {
		d.DeviceName = orElse(d.DeviceName, "local-ssd-"+decimal(int(d.Index)))
		return nil
	}
	if (d.Source == "") == (d.InitializeParams == nil) {
		return wrongField("disks["+decimal(int(d.Index))+"]", "", "A disk has either a source or initializeParams.")
	}
	if d.Source != "" {
		return c.checkAttach(path, d)
	}
	name := m.Name
	if d.Index > 0 {
		name += "-" + decimal(int(d.Index))
	}
	key := scope + "/disks/" + orElse(d.InitializeParams.DiskName, name)
	if _, found := c.engine.disks.get(key); found {
		return exists(key)
	}
	in := d.InitializeParams
	disk := &compute.Disk{
		Name: nameOf(key), SourceImage: in.SourceImage, SourceSnapshot: in.SourceSnapshot, SizeGb: in.DiskSizeGb, Type: in.DiskType, Labels: in.Labels, Description: in.Description,
	}
	if err := checkLabels(in.Labels); err != nil {
		return err
	}
	if err := c.fillDisk(key, disk); err != nil {
		return err
	}
	d.Source, d.DiskSizeGb, d.DeviceName = linkTo(key), disk.SizeGb, orElse(d.DeviceName, "persistent-disk-"+decimal(int(d.Index)))
	c.newDisks = append(c.newDisks, disk)
	return c.checkQuota(key, diskMetric(disk.Type), float64(disk.SizeGb))
}

// checkAttach validates an existing disk: it must be in the instance's zone and not be attached
// elsewhere in read-write mode.
// https://cloud.google.com/compute/docs/disks/sharing-disks-between-vms
func (c *call) checkAttach(path string, d *compute.AttachedDisk) error {
	key := c.pathOf(d.Source)
	disk, found := c.engine.disks.get(key)
	switch {
	case !found:
		return missingReference("disks["+decimal(int(d.Index))+"].source", d.Source)
	case placeOf(key) != placeOf(path):
		return wrongField("disks["+decimal(int(d.Index))+"].source", d.Source, "Disk must be in the same zone as the instance.")
	case d.Mode == "READ_WRITE" && len(disk.Users) > 0, d.Mode == "READ_ONLY" && c.writtenByAnother(disk):
		return refuse(400, "resourceInUseByAnotherResource", "The disk resource '%s' is already being used by '%s'", key, strings.TrimPrefix(disk.Users[0], linkBase))
	}
	d.Source, d.DiskSizeGb, d.DeviceName = linkTo(key), disk.SizeGb, orElse(d.DeviceName, "persistent-disk-"+decimal(int(d.Index)))
	return nil
}

// stampAttached records the time at which disks were attached. An instance that failed for lack of
// capacity never had its disks attached.
// https://cloud.google.com/compute/docs/reference/rest/v1/disks (lastAttachTimestamp)
func (w *World) stampAttached(m *machine) {
	for _, d := range m.Disks {
		if disk, found := w.engine.disks.get(strings.TrimPrefix(d.Source, linkBase)); found {
			disk.LastAttachTimestamp = w.stamp()
		}
	}
}

// freeDisk removes an instance from the users of a disk.
func (w *World) freeDisk(disk *compute.Disk, machine string) {
	disk.Users = slices.DeleteFunc(disk.Users, func(u string) bool { return u == linkTo(machine) })
	if disk.LastAttachTimestamp != "" {
		disk.LastDetachTimestamp = w.stamp()
	}
}

func (w *World) writtenByAnother(disk *compute.Disk) bool {
	for _, user := range disk.Users {
		m, found := w.engine.instances.get(strings.TrimPrefix(user, linkBase))
		if !found {
			continue
		}
		for _, d := range m.Disks {
			if d.Source == disk.SelfLink && d.Mode == "READ_WRITE" {
				return true
			}
		}
	}
	return false
}

// attachDisks adds the new disks of an instance and marks all its disks as used.
func (c *call) attachDisks(path string, m *machine) {
	scope := strings.Join(strings.Split(path, "/")[:4], "/")
	for _, disk := range c.newDisks {
		key := scope + "/disks/" + disk.Name
		c.complete(disk, "compute#disk", key)
		disk.Status = "READY"
		c.engine.disks.add(key, disk)
	}
	for _, d := range m.Disks {
		if disk, found := c.engine.disks.get(strings.TrimPrefix(d.Source, linkBase)); found {
			disk.Users = append(disk.Users, linkTo(path))
		}
		d.InitializeParams = nil
	}
}
