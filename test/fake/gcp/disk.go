package gcptest

import (
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"
)

func disks() collection[compute.Disk] {
	return collection[compute.Disk]{
		name: "disks", kind: "compute#disk", table: func(e *engine) *table[compute.Disk] { return &e.disks },
		create: createDisk, made: func(d *compute.Disk) { d.Status = "READY" }, user: diskUser,
	}
}

func diskActs() map[string]act {
	out := disks().acts("insert", "get", "list", "aggregatedList", "delete", "setLabels")
	out["compute.disks.createSnapshot"] = createSnapshot
	out["compute.disks.resize"] = resizeDisk
	return out
}

func diskUser(_ *World, _ string, d *compute.Disk) string {
	if len(d.Users) > 0 {
		return strings.TrimPrefix(d.Users[0], linkBase)
	}
	return ""
}

func createDisk(c *call, path string, d *compute.Disk) error {
	if err := checkLabels(d.Labels); err != nil {
		return err
	}
	if err := c.fillDisk(path, d); err != nil {
		return err
	}
	return c.checkQuota(path, diskMetric(d.Type), float64(d.SizeGb))
}

// fillDisk completes a disk created from an image, a snapshot or empty.
// https://cloud.google.com/compute/docs/disks/create-root-persistent-disks
func (c *call) fillDisk(path string, d *compute.Disk) error {
	zoneName := placeOf(path)
	kind := nameOf(orElse(d.Type, "pd-standard"))
	if !slices.Contains(diskTypes(), kind) {
		return missingReference("type", d.Type)
	}
	d.Type = linkTo("projects/" + c.projectID() + "/zones/" + zoneName + "/diskTypes/" + kind)
	smallest, err := c.sourceSize(d)
	if err != nil {
		return err
	}
	if d.SizeGb == 0 {
		d.SizeGb = max(smallest, 10)
	}
	if d.SizeGb < smallest {
		return invalid("Invalid value for field 'resource.sizeGb': '%d'. Requested disk size cannot be smaller than the source's size (%d GB)", d.SizeGb, smallest)
	}
	d.Status, d.PhysicalBlockSizeBytes = "CREATING", 4096
	return nil
}

// diskTypes: https://cloud.google.com/compute/docs/disks#disk-types
func diskTypes() []string {
	return []string{"pd-standard", "pd-balanced", "pd-ssd", "pd-extreme", "hyperdisk-balanced", "local-ssd"}
}

// sourceSize returns the size of a disk's source, or 0 without a source.
func (c *call) sourceSize(d *compute.Disk) (int64, error) {
	switch {
	case d.SourceImage != "":
		path, i, found := c.findImage(d.SourceImage)
		if !found {
			return 0, missingReference("sourceImage", d.SourceImage)
		}
		d.SourceImage, d.SourceImageId, d.Architecture = linkTo(path), decimal64(i.Id), i.Architecture
		return i.DiskSizeGb, nil
	case d.SourceSnapshot != "":
		path := c.pathOf(d.SourceSnapshot)
		s, found := c.engine.snapshots.get(path)
		if !found {
			return 0, missingReference("sourceSnapshot", d.SourceSnapshot)
		}
		d.SourceSnapshot, d.SourceSnapshotId = linkTo(path), decimal64(s.Id)
		return s.DiskSizeGb, nil
	}
	return 0, nil
}

// resizeDisk enlarges a disk. It returns an error for a smaller size.
// https://cloud.google.com/compute/docs/disks/resize-persistent-disk
func resizeDisk(c *call) (any, error) {
	path, d, err := disks().find(c)
	if err != nil {
		return nil, err
	}
	size := decode[compute.DisksResizeRequest](c).SizeGb
	if size <= d.SizeGb {
		return nil, wrongField("sizeGb", decimal(int(size)), "New disk size must be larger than the current one.")
	}
	return c.operate("resizeDisk", path, effect{apply: func() *failure { d.SizeGb = size; return nil }})
}

// GiveDisk adds a disk that existed before the test.
func (w *World) GiveDisk(projectID, zoneName, name string, gb int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	scope := "projects/" + projectID + "/zones/" + zoneName
	w.engine.disks.give(scope+"/disks/"+name, &compute.Disk{
		Kind: "compute#disk", Id: w.nextID(), Name: name, SelfLink: linkTo(scope + "/disks/" + name), SizeGb: gb, Status: "READY",
		Type: linkTo(scope + "/diskTypes/pd-balanced"), Zone: linkTo(scope), CreationTimestamp: w.stamp(), LabelFingerprint: w.fingerprint(),
	})
}

// GiveRegionalDisk adds a disk that is replicated in two zones of a region.
// https://cloud.google.com/compute/docs/disks/about-regional-persistent-disk
func (w *World) GiveRegionalDisk(projectID, regionName, name string, gb int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	scope := "projects/" + projectID + "/regions/" + regionName
	w.engine.disks.give(scope+"/disks/"+name, &compute.Disk{
		Kind: "compute#disk", Id: w.nextID(), Name: name, SelfLink: linkTo(scope + "/disks/" + name), SizeGb: gb, Status: "READY",
		Type: linkTo(scope + "/diskTypes/pd-balanced"), Region: linkTo(scope), CreationTimestamp: w.stamp(), LabelFingerprint: w.fingerprint(),
		ReplicaZones: []string{linkTo("projects/" + projectID + "/zones/" + regionName + "-a"), linkTo("projects/" + projectID + "/zones/" + regionName + "-b")},
	})
}
