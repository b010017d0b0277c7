package facts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/det-deploy/det-deploy/cloud"
)

// Image is an AMI.
type Image struct {
	ID   string
	Name string
	// Architecture is "amd64" or "arm64".
	Architecture string
	// RootDevice is the device name of the root volume, RootSize its minimum size in GB.
	RootDevice string
	RootSize   int
	// Origin describes how the image was selected.
	Origin string
}

// Stock is a published image: the one under the first existing public SSM parameter or, if none can
// be read, the newest one of the owner whose name matches the first pattern that finds any. In each
// text, %s is replaced by the publisher's name of the architecture.
type Stock struct {
	What       string
	Parameters []string
	Owner      string
	Names      []string
	// Spelling maps architectures to the publisher's names.
	Spelling map[string]string
	// Generations are the NVIDIA architectures that its driver supports, oldest first.
	Generations []string
}

// MasterStock returns Canonical's Ubuntu 24.04. A master requires only cloud-init and systemd.
func MasterStock() Stock {
	return Stock{
		What:       "Ubuntu 24.04",
		Parameters: []string{"/aws/service/canonical/ubuntu/server/24.04/stable/current/%s/hvm/ebs-gp3/ami-id"},
		Owner:      "099720109477", // Canonical's account ID
		Names:      []string{"ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-%s-server-*"},
		Spelling:   map[string]string{"amd64": "amd64", "arm64": "arm64"},
	}
}

// AgentStock returns Amazon's Ubuntu image with NVIDIA drivers, Docker and the NVIDIA Container
// Toolkit. It also serves instances without GPUs. Where there is none with Ubuntu 24.04, it is the
// one with 22.04.
func AgentStock() Stock {
	const parameter, name = "/aws/service/deeplearning/ami/%%s/base-oss-nvidia-driver-gpu-ubuntu-%s/latest/ami-id", "Deep Learning*Base OSS Nvidia Driver GPU AMI (Ubuntu %s)*"
	var parameters, names []string
	for _, release := range []string{"24.04", "22.04"} {
		parameters, names = append(parameters, fmt.Sprintf(parameter, release)), append(names, fmt.Sprintf(name, release))
	}
	return Stock{
		What:       "Deep Learning Base GPU AMI on Ubuntu",
		Parameters: parameters,
		Owner:      "amazon",
		Names:      names,
		Spelling:   map[string]string{"amd64": "x86_64", "arm64": "arm64"},

		Generations: openDriver(),
	}
}

// Image returns an image by its ID.
func (f Facts) Image(ctx context.Context, id string) (Image, error) {
	out, err := f.Clients.EC2.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: []string{id}})
	if err != nil {
		return Image{}, fmt.Errorf("describe image %s: %w", id, err)
	}
	for _, i := range out.Images {
		if aws.ToString(i.ImageId) == id {
			return imageOf(i, "as given"), nil
		}
	}
	return Image{}, &cloud.Error{Kind: cloud.NotFound, Op: "ec2:DescribeImages", Resource: id, Err: errors.New("it does not exist in " + f.Clients.Region)}
}

// Published returns the ID of the newest published stock image, or "" if none is published.
func (f Facts) Published(ctx context.Context, stock Stock, architecture string) (id string, err error) {
	for _, pattern := range stock.Parameters {
		name := fmt.Sprintf(pattern, stock.Spelling[architecture])
		var p *ssm.GetParameterOutput
		p, err = f.Clients.SSM.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String(name)})
		if err == nil && p.Parameter != nil {
			return aws.ToString(p.Parameter.Value), nil
		}
		if err != nil && cloud.KindOf(err) != cloud.NotFound {
			return "", err
		}
	}
	return "", err
}

// Newest returns the newest stock image: the one with the given ID or, if that is empty, the newest
// one with a matching name. Why is the error of Published.
func (f Facts) Newest(ctx context.Context, stock Stock, architecture, id string, why error) (Image, error) {
	if id != "" {
		image, err := f.Image(ctx, id)
		image.Origin = "newest " + stock.What
		return image, err
	}
	image, byName := f.newestByName(ctx, stock, architecture)
	return image, errors.Join(byName, ifFailed(byName, why))
}

// ifFailed returns err if failed is not nil. The first error is irrelevant if the fallback
// succeeded.
func ifFailed(failed, err error) error {
	if failed == nil {
		return nil
	}
	return err
}

func (f Facts) newestByName(ctx context.Context, stock Stock, architecture string) (Image, error) {
	for _, pattern := range stock.Names {
		if stock.Owner != "amazon" {
			pattern = fmt.Sprintf(pattern, stock.Spelling[architecture])
		}
		found, err := f.imagesNamed(ctx, stock.Owner, pattern, architecture)
		if err != nil {
			return Image{}, fmt.Errorf("find %s: %w", stock.What, err)
		}
		if len(found) == 0 {
			continue
		}
		newest := slices.MaxFunc(found, func(a, b types.Image) int {
			return cmp.Or(cmp.Compare(aws.ToString(a.CreationDate), aws.ToString(b.CreationDate)), cmp.Compare(aws.ToString(a.ImageId), aws.ToString(b.ImageId)))
		})
		return imageOf(newest, "newest "+stock.What), nil
	}
	return Image{}, &cloud.Error{
		Kind: cloud.NotFound, Op: "ec2:DescribeImages", Resource: stock.What,
		Err: fmt.Errorf("none found for %s in %s", architecture, f.Clients.Region),
	}
}

// imagesNamed returns the available images of an owner whose names match a pattern.
func (f Facts) imagesNamed(ctx context.Context, owner, pattern, architecture string) (found []types.Image, err error) {
	p := ec2.NewDescribeImagesPaginator(f.Clients.EC2, &ec2.DescribeImagesInput{
		Owners: []string{owner},
		Filters: []types.Filter{
			{Name: aws.String("name"), Values: []string{pattern}},
			{Name: aws.String("architecture"), Values: []string{string(Spelled(architecture))}},
			{Name: aws.String("state"), Values: []string{"available"}},
		},
	})
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		found = append(found, page.Images...)
	}
	return found, nil
}

func imageOf(i types.Image, origin string) Image {
	out := Image{ID: aws.ToString(i.ImageId), Name: aws.ToString(i.Name), RootDevice: aws.ToString(i.RootDeviceName), Origin: origin}
	for a, s := range ec2Architectures() {
		if string(s) == string(i.Architecture) {
			out.Architecture = a
		}
	}
	for _, m := range i.BlockDeviceMappings {
		if aws.ToString(m.DeviceName) == out.RootDevice && m.Ebs != nil {
			out.RootSize = int(aws.ToInt32(m.Ebs.VolumeSize))
		}
	}
	return out
}

// Spelled converts a GOARCH to EC2's architecture. It returns "" for an architecture that EC2 does
// not have.
func Spelled(architecture string) types.ArchitectureValues { return ec2Architectures()[architecture] }

func ec2Architectures() map[string]types.ArchitectureValues {
	return map[string]types.ArchitectureValues{"amd64": types.ArchitectureValuesX8664, "arm64": types.ArchitectureValuesArm64}
}
