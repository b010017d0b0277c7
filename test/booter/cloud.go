package booter

import (
	"context"
	"net/http"
)

// Cloud is an emulated cloud whose machines a booter boots.
type Cloud interface {
	// Machines returns the machines that the cloud lists. A machine that is no longer listed was
	// deleted.
	Machines(ctx context.Context) ([]Machine, error)
	// Metadata returns the metadata service of a machine that is about to boot. It is served at
	// 169.254.169.254 inside of the machine while the machine runs.
	Metadata(ctx context.Context, id string) (http.Handler, error)
	// PoweredOff notifies the cloud that a machine has shut itself down.
	PoweredOff(ctx context.Context, id string) error
	// Platform returns the common properties of all its machines.
	Platform() Platform
}

// Machine is a machine as listed by its cloud.
type Machine struct {
	ID string
	// Root distinguishes machines that successively have the same ID. A machine that boots again
	// with the same Root keeps its disk. Empty means the ID.
	Root string
	// Powered reports whether a machine boots or runs, as opposed to one that was stopped or
	// deleted.
	Powered bool
	// PowerKey reports whether the power key of a machine was pressed: it still runs, and shuts
	// down unless its logind is configured otherwise.
	PowerKey bool
	Hostname string
	// Addresses are its IP addresses, the private one first. Addresses and Disks may be added while
	// it runs.
	Addresses []string
	// Disks are the disks besides the boot disk.
	Disks []Disk
}

// Disk is a disk attached to a machine.
type Disk struct {
	// ID identifies its content, which is kept for the next machine.
	ID string
	// Device is its name below /dev, Serial its serial number.
	Device, Serial string
	// Links are further names below /dev. Partitions have the suffix "-part1".
	Links    []string
	ReadOnly bool
}

// ConsoleTaker is a Cloud that receives the console output of its machines.
type ConsoleTaker interface {
	// TakeConsole is called with the console output of a machine since the last call.
	TakeConsole(id, text string)
}

// Platform describes the firmware and the image of a cloud's machines.
type Platform struct {
	// Vendor and Product are the DMI system strings. Product may be empty.
	Vendor, Product string
	// Virt is the output of systemd-detect-virt.
	Virt string
	// Serial returns a machine's serial number in the cloud's form: a UUID.
	Serial func(id string) string
	// MetadataHost is the host name of the metadata service.
	MetadataHost string
	// Hosts holds additional lines of a machine's /etc/hosts.
	Hosts string
	// Files holds the files of the image besides the host's, by path below the root. All are
	// executable.
	Files map[string]string
	// Programs maps the programs of the host that the image needs to the packages that install
	// them.
	Programs map[string]string
}
