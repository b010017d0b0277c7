package gcptest

import (
	"strings"

	"google.golang.org/api/compute/v1"
)

func images() collection[compute.Image] {
	return collection[compute.Image]{
		name: "images", kind: "compute#image", table: func(e *engine) *table[compute.Image] { return &e.images },
		create: createImage, made: func(i *compute.Image) { i.Status = "READY" },
	}
}

func imageActs() map[string]act {
	out := images().acts("insert", "get", "list", "delete", "setLabels")
	out["compute.images.getFromFamily"] = getImageFromFamily
	out["compute.images.deprecate"] = deprecateImage
	return out
}

// createImage: https://cloud.google.com/compute/docs/images/create-custom
func createImage(c *call, _ string, i *compute.Image) error {
	i.SourceType, i.Status = "RAW", "PENDING"
	if i.SourceDisk == "" {
		return invalid("Invalid value for field 'resource': an image needs a source.")
	}
	path := c.pathOf(i.SourceDisk)
	d, found := c.engine.disks.get(path)
	if !found {
		return missingReference("sourceDisk", i.SourceDisk)
	}
	i.SourceDisk, i.DiskSizeGb, i.Architecture = linkTo(path), d.SizeGb, orElse(d.Architecture, "X86_64")
	return checkLabels(i.Labels)
}

// deprecateImage sets the deprecation status of an image.
// https://cloud.google.com/compute/docs/images/deprecate-custom
func deprecateImage(c *call) (any, error) {
	path, i, err := images().find(c)
	if err != nil {
		return nil, err
	}
	status := decode[compute.DeprecationStatus](c)
	return c.operate("deprecate", path, effect{apply: func() *failure { i.Deprecated = status; return nil }})
}

// newestOfFamily returns the newest image of a family that is not deprecated.
// https://cloud.google.com/compute/docs/images/image-families-best-practices
func (w *World) newestOfFamily(project, family string) (string, *compute.Image, bool) {
	var path string
	var newest *compute.Image
	for key, i := range w.engine.images.all() {
		if i.Family == family && i.Deprecated == nil && strings.HasPrefix(key, "projects/"+project+"/") {
			path, newest = key, i
		}
	}
	return path, newest, newest != nil
}

func getImageFromFamily(c *call) (any, error) {
	p, err := c.project(c.params["project"])
	if err != nil {
		return nil, err
	}
	_, i, found := c.newestOfFamily(p.id, c.params["family"])
	if !found {
		return nil, notFound("projects/" + p.id + "/global/images/family/" + c.params["family"])
	}
	return i, nil
}

// findImage returns the image of a URL with its name or family.
func (c *call) findImage(link string) (string, *compute.Image, bool) {
	path := c.pathOf(link)
	if before, family, ok := strings.Cut(path, "/global/images/family/"); ok {
		return c.newestOfFamily(strings.TrimPrefix(before, "projects/"), family)
	}
	i, found := c.engine.images.get(path)
	return path, i, found
}

// The public images.
const (
	ImageUbuntu = "projects/ubuntu-os-cloud/global/images/ubuntu-2204-jammy-v20261015"
	ImageARM    = "projects/ubuntu-os-cloud/global/images/ubuntu-2204-jammy-arm64-v20261015"
	ImageDebian = "projects/debian-cloud/global/images/debian-12-bookworm-v20261010"
	ImageGPU    = "projects/deeplearning-platform-release/global/images/common-cu124-v20261001-ubuntu-2204"

	// The images that det-deploy uses by default.
	ImageMaster    = "projects/ubuntu-os-cloud/global/images/ubuntu-2404-noble-amd64-v20261110"
	ImageMasterARM = "projects/ubuntu-os-cloud/global/images/ubuntu-2404-noble-arm64-v20261110"
	ImageAgent     = "projects/deeplearning-platform-release/global/images/common-cu129-ubuntu-2404-nvidia-580-v20261101"
	ImageOldAgent  = "projects/deeplearning-platform-release/global/images/common-cu129-ubuntu-2204-nvidia-580-v20261108"
)

// addPublicImages creates the projects with Google's public images.
// https://cloud.google.com/compute/docs/images/os-details
func (w *World) addPublicImages() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.giveImage(ImageUbuntu, "ubuntu-2204-lts", "X86_64", 10)
	w.giveImage(ImageARM, "ubuntu-2204-lts-arm64", "ARM64", 10)
	w.giveImage(ImageDebian, "debian-12", "X86_64", 10)
	w.giveImage(ImageGPU, "common-cu124-ubuntu-2204", "X86_64", 50)
	w.giveImage(ImageMaster, "ubuntu-2404-lts-amd64", "X86_64", 10)
	w.giveImage(ImageMasterARM, "ubuntu-2404-lts-arm64", "ARM64", 10)
	w.giveImage(ImageAgent, "common-cu129-ubuntu-2404-nvidia-580", "X86_64", 50)
	w.giveImage(ImageOldAgent, "common-cu129-ubuntu-2204-nvidia-580", "X86_64", 50)
}

// GiveImage adds an image of a project that existed before the test.
func (w *World) GiveImage(projectID, name, family string, gb int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.giveImage("projects/"+projectID+"/global/images/"+name, family, "X86_64", gb)
}

// WithdrawImage deprecates an image.
func (w *World) WithdrawImage(projectID, name string, status *compute.DeprecationStatus) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i, found := w.engine.images.get("projects/" + projectID + "/global/images/" + name); found {
		i.Deprecated = status
	}
}

func (w *World) giveImage(path, family, architecture string, gb int64) {
	id := strings.Split(path, "/")[1]
	if w.projects[id] == nil { // a public project of Google
		w.projects[id] = &project{id: id, number: stableID(id) >> 24, enabled: map[string]bool{"compute.googleapis.com": true}}
		w.access.policies["projects/"+id] = &policyHistory{versions: []datedPolicy{{policy: &policy{Bindings: []*binding{{Role: "roles/compute.viewer", Members: []string{"allUsers"}}, {Role: "gcptest/imageUser", Members: []string{"allUsers"}}}}}}}
	}
	w.engine.images.give(path, &compute.Image{
		Kind: "compute#image", Id: w.nextID(), Name: nameOf(path), SelfLink: linkTo(path), Family: family, Architecture: architecture,
		DiskSizeGb: gb, ArchiveSizeBytes: gb << 28, Status: "READY", SourceType: "RAW", CreationTimestamp: w.stamp(), LabelFingerprint: w.fingerprint(),
		GuestOsFeatures: []*compute.GuestOsFeature{{Type: "UEFI_COMPATIBLE"}, {Type: "GVNIC"}, {Type: "VIRTIO_SCSI_MULTIQUEUE"}},
	})
}
