package facts

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
)

// Image is a VM image.
type Image struct {
	// ID is its path: "projects/debian-cloud/global/images/debian-12-v20261010".
	ID   string
	Name string
	// Architecture is "amd64" or "arm64".
	Architecture string
	// Size is the minimum size of a boot disk in GB.
	Size int
	// Replaced is the replacement named by the owner of a deprecated image, which can still be
	// used.
	Replaced string
	// Origin describes how the image was selected.
	Origin string
}

// Stock is a published image: the newest image of the first existing family, by architecture.
type Stock struct {
	What     string
	Project  string
	Families map[string][]string
}

// MasterStock returns Canonical's Ubuntu 24.04. A master requires only Google's guest agent and
// systemd.
func MasterStock() Stock {
	return Stock{
		What: "Ubuntu 24.04 LTS", Project: "ubuntu-os-cloud",
		Families: map[string][]string{"amd64": {"ubuntu-2404-lts-amd64"}, "arm64": {"ubuntu-2404-lts-arm64"}},
	}
}

// AgentStock returns Google's Ubuntu image with NVIDIA drivers, Docker and the NVIDIA Container
// Toolkit. It also serves instances without GPUs. The names of its families end with the driver
// version; the older ones are fallbacks for the time after Google removes the newer ones. Google
// publishes none for arm64.
func AgentStock() Stock {
	return Stock{
		What: "Deep Learning VM on Ubuntu", Project: "deeplearning-platform-release",
		Families: map[string][]string{"amd64": {"common-cu129-ubuntu-2404-nvidia-580", "common-cu129-ubuntu-2204-nvidia-580", "common-cu128-ubuntu-2204-nvidia-570"}},
	}
}

// ImageRef is a reference to an image.
type ImageRef struct {
	Project string
	// Name is the name of the image, or of an image family, which refers to its newest image.
	Name   string
	Family bool
}

// ParseImage parses a full or partial URL of an image or image family, or the name of an image in
// the project.
func (f Facts) ParseImage(link string) ImageRef {
	if i := strings.Index(link, "projects/"); i >= 0 {
		link = link[i:]
	}
	parts := strings.Split(link, "/")
	r := ImageRef{Project: f.Clients.Project, Name: path.Base(link), Family: len(parts) > 1 && parts[len(parts)-2] == "family"}
	if parts[0] == "projects" && len(parts) > 1 {
		r.Project = parts[1]
	}
	return r
}

// Image returns an image by its path, its family or its name. It returns an error if the image is
// obsolete.
func (f Facts) Image(ctx context.Context, link string) (Image, error) {
	r := f.ParseImage(link)
	live, err := f.readImage(ctx, r)
	if err != nil {
		return Image{}, fmt.Errorf("describe image %s: %w", link, err)
	}
	if err := checkImage(live); err != nil {
		return Image{}, &cloud.Error{Kind: cloud.Invalid, Op: "compute.images.get", Resource: link, Err: err}
	}
	return describeImage(r.Project, live), nil
}

func (f Facts) readImage(ctx context.Context, r ImageRef) (*compute.Image, error) {
	if r.Family {
		return api.Do(ctx, f.Clients.Compute.Images.GetFromFamily(r.Project, r.Name))
	}
	return api.Do(ctx, f.Clients.Compute.Images.Get(r.Project, r.Name))
}

// checkImage returns an error if an image cannot be booted.
func checkImage(i *compute.Image) error {
	switch {
	case !isOffered(i.Deprecated):
		return fmt.Errorf("it is obsolete%s", insteadOf(i.Deprecated))
	case i.Status == "FAILED" || i.Status == "DELETING":
		return fmt.Errorf("its state is %s", i.Status)
	case i.Status == "PENDING":
		return errors.New("it is not ready yet")
	}
	return nil
}

func insteadOf(d *compute.DeprecationStatus) string {
	if d == nil || d.Replacement == "" {
		return ""
	}
	return "; its replacement is " + path.Base(d.Replacement)
}

func describeImage(project string, i *compute.Image) Image {
	out := Image{
		ID: "projects/" + project + "/global/images/" + i.Name, Name: i.Name, Architecture: architectureOf(i.Architecture),
		Size: int(i.DiskSizeGb), Origin: "as given",
	}
	if i.Deprecated != nil && i.Deprecated.State == "DEPRECATED" {
		out.Replaced = "it is deprecated" + insteadOf(i.Deprecated)
	}
	return out
}

// Newest returns the newest stock image.
func (f Facts) Newest(ctx context.Context, stock Stock, architecture string) (Image, error) {
	for _, family := range stock.Families[architecture] {
		live, err := api.Do(ctx, f.Clients.Compute.Images.GetFromFamily(stock.Project, family))
		if cloud.KindOf(err) == cloud.NotFound {
			continue
		}
		if err != nil {
			return Image{}, fmt.Errorf("find %s: %w", stock.What, err)
		}
		image := describeImage(stock.Project, live)
		image.Origin = "newest " + stock.What
		return image, nil
	}
	return Image{}, &cloud.Error{
		Kind: cloud.NotFound, Op: "compute.images.getFromFamily", Resource: stock.What,
		Fix: "set --agent-image or --master-image", Err: fmt.Errorf("none found for %s", architecture),
	}
}
