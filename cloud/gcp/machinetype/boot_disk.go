package machinetype

import (
	"slices"
	"strings"
)

// The default boot disk types.
const (
	standardDisk = "pd-standard"
	balancedDisk = "pd-balanced"
	hyperDisk    = "hyperdisk-balanced"
)

// BootDiskType returns the cheapest disk type that the machine type can boot from: newer families
// do not support standard persistent disks, and the newest support no persistent disks.
func (t Type) BootDiskType() string {
	switch family := t.Family(); {
	case slices.Contains(hyperFamilies(), family), strings.HasPrefix(t.MachineType, "a3-ultragpu-"):
		return hyperDisk
	case slices.Contains([]string{"a3", "c3", "c3d", "g2", "h3", "m3", "z3"}, family):
		return balancedDisk
	}
	return standardDisk
}

// BootsFrom reports whether the machine type can boot from a disk type, as far as this package
// knows.
func (t Type) BootsFrom(disk string) bool {
	switch t.BootDiskType() {
	case hyperDisk:
		return strings.HasPrefix(disk, "hyperdisk-")
	case balancedDisk:
		return disk != standardDisk
	}
	return true
}

// hyperFamilies returns the families that boot from Hyperdisk only.
func hyperFamilies() []string {
	return []string{"a4", "a4x", "c4", "c4a", "c4d", "g4", "m4", "n4", "n4a", "n4d", "x4"}
}
