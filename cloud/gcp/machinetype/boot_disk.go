package machinetype

import (
	"slices"
	"strings"
)

// The types of disks that machines boot from where nothing is said of it.
const (
	standardDisk = "pd-standard"
	balancedDisk = "pd-balanced"
	hyperDisk    = "hyperdisk-balanced"
)

// BootDiskType is the cheapest type of disk from which machines of the type boot: newer
// families take no standard disks, and the newest no persistent disks at all.
func (t Type) BootDiskType() string {
	switch family := t.Family(); {
	case slices.Contains(hyperFamilies(), family), strings.HasPrefix(t.MachineType, "a3-ultragpu-"):
		return hyperDisk
	case slices.Contains([]string{"a3", "c3", "c3d", "g2", "h3", "m3", "z3"}, family):
		return balancedDisk
	}
	return standardDisk
}

// BootsFrom reports whether machines of the type may boot from a type of disk, as far as it is
// known here.
func (t Type) BootsFrom(disk string) bool {
	switch t.BootDiskType() {
	case hyperDisk:
		return strings.HasPrefix(disk, "hyperdisk-")
	case balancedDisk:
		return disk != standardDisk
	}
	return true
}

// hyperFamilies boot from Hyperdisk alone.
func hyperFamilies() []string {
	return []string{"a4", "a4x", "c4", "c4a", "c4d", "g4", "m4", "n4", "n4a", "n4d", "x4"}
}
