package gcptest

import (
	"strconv"
	"strings"

	"google.golang.org/api/compute/v1"
)

func snapshots() collection[compute.Snapshot] {
	return collection[compute.Snapshot]{
		name: "snapshots", kind: "compute#snapshot", table: func(e *engine) *table[compute.Snapshot] { return &e.snapshots },
		create: completeSnapshot, made: func(s *compute.Snapshot) { s.Status = "READY" },
	}
}

func snapshotActs() map[string]act {
	return snapshots().acts("insert", "get", "list", "delete", "setLabels")
}

// createSnapshot implements disks.createSnapshot. Its operation is zonal and targets the disk.
// https://cloud.google.com/compute/docs/disks/create-snapshots
func createSnapshot(c *call) (any, error) {
	disk, _, err := disks().find(c)
	if err != nil {
		return nil, err
	}
	s := decode[compute.Snapshot](c)
	s.SourceDisk = linkTo(disk)
	path := strings.Join(strings.Split(disk, "/")[:2], "/") + "/global/snapshots/" + s.Name
	if _, found := c.engine.snapshots.get(path); found {
		return nil, exists(path)
	}
	c.complete(s, "compute#snapshot", path)
	if err := completeSnapshot(c, path, s); err != nil {
		return nil, err
	}
	c.engine.snapshots.add(path, s)
	return c.operate("createSnapshot", disk, effect{
		apply: func() *failure { s.Status = "READY"; return nil },
		undo:  func() { c.engine.snapshots.remove(path) },
	})
}

func completeSnapshot(c *call, path string, s *compute.Snapshot) error {
	disk := c.pathOf(s.SourceDisk)
	d, found := c.engine.disks.get(disk)
	if !found {
		return missingReference("sourceDisk", s.SourceDisk)
	}
	if err := checkLabels(s.Labels); err != nil {
		return err
	}
	s.SourceDisk, s.SourceDiskId, s.DiskSizeGb, s.Status = linkTo(disk), decimal64(d.Id), d.SizeGb, "CREATING"
	s.StorageBytes, s.StorageLocations = d.SizeGb<<20, []string{"us"}
	return c.checkQuota(path, "SNAPSHOTS", 1)
}

func decimal64(n uint64) string { return strconv.FormatUint(n, 10) }

// GiveSnapshot adds a snapshot that existed before the test.
func (w *World) GiveSnapshot(projectID, name string, gb int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	path := "projects/" + projectID + "/global/snapshots/" + name
	w.engine.snapshots.give(path, &compute.Snapshot{
		Kind: "compute#snapshot", Id: w.nextID(), Name: name, SelfLink: linkTo(path), DiskSizeGb: gb, Status: "READY",
		CreationTimestamp: w.stamp(), LabelFingerprint: w.fingerprint(),
	})
}

// FailSnapshot makes Compute Engine give up a snapshot.
func (w *World) FailSnapshot(projectID, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s, found := w.engine.snapshots.get("projects/" + projectID + "/global/snapshots/" + name); found {
		s.Status = "FAILED"
	}
}
