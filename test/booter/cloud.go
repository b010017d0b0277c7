package booter

import (
	"context"
	"net/http"
)

// Cloud is an emulated cloud whose machines a booter boots.
type Cloud interface {
	// Machines are the machines as the cloud shows them now. What is not among them any
	// more was removed.
	Machines(ctx context.Context) ([]Machine, error)
	// Metadata is the metadata service of a machine that is about to boot; it answers at
	// 169.254.169.254 inside of it, and goes on to be asked while the machine runs.
	Metadata(ctx context.Context, id string) (http.Handler, error)
	// PoweredOff says that a machine has powered itself off.
	PoweredOff(ctx context.Context, id string) error
	// Platform is what all its machines have in common.
	Platform() Platform
}

// Machine is a machine as its cloud shows it.
type Machine struct {
	ID string
	// Root tells machines apart that have the same ID one after the other; a machine that
	// boots again with the same one has what it wrote. Empty is the ID.
	Root string
	// Powered is true of a machine that boots or runs, and false of one that was stopped
	// or removed.
	Powered bool
	// PowerKey is true of a machine whose power key was pressed: it still runs, and shuts
	// down by itself unless its logind is told otherwise.
	PowerKey bool
	Hostname string
	// Addresses are those at which it answers, its own in the network first. Addresses
	// and Disks may be added while it runs.
	Addresses []string
	// Disks are those beside the one that it boots from.
	Disks []Disk
}

// Disk is one that is attached to a machine.
type Disk struct {
	// ID names its content, which is kept for the next machine.
	ID string
	// Device is the name below /dev at which the machine finds it, Serial its number.
	Device, Serial string
	// Links are further names below /dev. A partition has them with "-part1" behind.
	Links    []string
	ReadOnly bool
}

// ConsoleTaker is a Cloud that is shown what its machines write to their consoles.
type ConsoleTaker interface {
	// TakeConsole is called with what a machine has written since the last call.
	TakeConsole(id, text string)
}

// Platform is what the firmware and the image of a cloud's machines show of the cloud.
type Platform struct {
	// Vendor and Product are what the firmware says of the machine; no Product is said
	// where it is empty.
	Vendor, Product string
	// Virt is what systemd-detect-virt answers.
	Virt string
	// Serial is the number of a machine in the cloud's form: a UUID.
	Serial func(id string) string
	// MetadataHost is the metadata service's name.
	MetadataHost string
	// Hosts are further lines of a machine's /etc/hosts.
	Hosts string
	// Files are what the image holds beside this machine's own files, by their paths
	// below the root. All are executable.
	Files map[string]string
	// Programs are what the image needs of this machine, each with the package that
	// installs it.
	Programs map[string]string
}
