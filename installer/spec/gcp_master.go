package spec

import (
	"regexp"
	"slices"

	"github.com/det-deploy/det-deploy/cloud/gcp/machinetype"
	"github.com/det-deploy/det-deploy/internal/document"
)

// GCPMaster configures the master's machine.
type GCPMaster struct {
	MachineType string      `yaml:"machine_type" doc:"Machine type, with at least 2 vCPUs and 4 GB; types of N1 get Intel Broadwell or later"`
	Image       string      `yaml:"image" doc:"Image, as projects/PROJECT/global/images/NAME, as projects/PROJECT/global/images/family/FAMILY, or by its name in the cluster's project; by default the newest Ubuntu LTS"`
	Zone        string      `yaml:"zone" doc:"Zone; by default that of an existing disk, or else the first that offers the machine type"`
	BootDisk    int         `yaml:"boot_disk_size" doc:"GB of the boot disk"`
	Disk        GCPDataDisk `yaml:"disk" doc:"Disk for the database, keys and logs of tasks"`
}

// GCPDataDisk is the master's data disk: new, existing, or created from a snapshot.
type GCPDataDisk struct {
	Size     int    `yaml:"size" doc:"Size in GB; it can grow later but not shrink"`
	Type     string `yaml:"type" doc:"Type of a new disk"`
	Name     string `yaml:"name" doc:"Existing disk to use; kept by down"`
	Snapshot string `yaml:"snapshot" doc:"Snapshot from which the disk is created"`
}

// balancedDisk is the disk type with a balance of price and performance.
const balancedDisk = "pd-balanced"

// DefaultGCPMaster returns the default settings.
func DefaultGCPMaster() GCPMaster {
	return GCPMaster{
		MachineType: "n2-standard-2",
		BootDisk:    50,
		// Determined's requirement for a master's disk.
		Disk: GCPDataDisk{Size: 100, Type: balancedDisk},
	}
}

// imagePath matches the path of an image or image family, with or without the address of the API,
// or the plain name of an image in the cluster's project.
var imagePath = regexp.MustCompile(`^(https://[a-z0-9./-]+/)?(projects/[a-z0-9.:-]+/global/images/(family/)?)?[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)

func checkImage(e *document.Errors, path, image string) {
	e.Check(image == "" || imagePath.MatchString(image), path,
		"must be an image such as projects/PROJECT/global/images/NAME, a family such as projects/PROJECT/global/images/family/FAMILY, or a name (is %q)", image)
}

func checkMachineType(e *document.Errors, path, text string) {
	_, err := machinetype.Parse(text)
	e.Check(err == nil && !slices.Contains([]byte(text), '+'), path, "must be a machine type such as n2-standard-2 (is %q)", text)
}

// Validate checks sizes and syntax.
func (m GCPMaster) Validate(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	checkMachineType(&e, at("machine_type"), m.MachineType)
	checkImage(&e, at("image"), m.Image)
	e.Check(m.BootDisk >= 20, at("boot_disk_size"), "must be at least 20 (is %d)", m.BootDisk)
	return append(e, m.Disk.Validate(at("disk"))...)
}

// diskTypes returns the types that a data disk may have. Others are local to a machine or need
// settings that cluster.yaml does not have.
func diskTypes() []string {
	return []string{"pd-standard", balancedDisk, "pd-ssd", "hyperdisk-balanced"}
}

func checkDiskType(e *document.Errors, path, name string) {
	e.Check(slices.Contains(diskTypes(), name), path, "must be pd-standard, pd-balanced, pd-ssd or hyperdisk-balanced (is %q)", name)
}

// Validate checks the size and that the disk has a single source.
func (d GCPDataDisk) Validate(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	fresh := DefaultGCPMaster().Disk
	e.Check(d.Size >= 100, at("size"), "must be at least 100 (is %d)", d.Size)
	checkDiskType(&e, at("type"), d.Type)
	checkName(&e, at("name"), d.Name)
	checkName(&e, at("snapshot"), d.Snapshot)
	e.Check(d.Name == "" || d.Size == fresh.Size, at("size"), "has no effect on an existing disk, which keeps its size; leave it out")
	e.Check(d.Name == "" || d.Type == fresh.Type, at("type"), "has no effect on an existing disk, which keeps its type; leave it out")
	e.Check(d.Name == "" || d.Snapshot == "", at("snapshot"), "excludes an existing disk; keep one of name and snapshot")
	return e
}
