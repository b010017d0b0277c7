package awstest

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// The images of every region, for use in tests. Canonical is the account that publishes Ubuntu
// images.
const (
	Canonical   = "099720109477"
	amazon      = "898082745236" // the account of Amazon's images with NVIDIA drivers
	ImageAMD64  = "ami-0abc0000000000064"
	ImageARM64  = "ami-0abc0000000000a64"
	ImageDebian = "ami-0abc0000000000deb"
	ImageMine   = "ami-0abc0000000000e1f"
	// ImageNobleAMD64 and ImageNobleARM64 are Ubuntu 24.04, ImageGPUAMD64 and ImageGPUARM64 are
	// Amazon's images of it with NVIDIA drivers, ImageOldGPUAMD64 is that of Ubuntu 22.04.
	ImageNobleAMD64 = "ami-0abc0000000002464"
	ImageNobleARM64 = "ami-0abc0000000024a64"
	ImageGPUAMD64   = "ami-0abc0000000000d1a"
	ImageGPUARM64   = "ami-0abc00000000d1a64"

	ImageOldGPUAMD64 = "ami-0abc00000000022d1"
)

func images() []types.Image {
	image := func(id, name, owner, made string, arch types.ArchitectureValues) types.Image {
		return types.Image{
			ImageId: &id, Name: &name, OwnerId: &owner, Architecture: arch, CreationDate: &made, State: types.ImageStateAvailable,
			Public: aws.Bool(owner != Account), RootDeviceName: aws.String("/dev/sda1"), RootDeviceType: types.DeviceTypeEbs,
			VirtualizationType: types.VirtualizationTypeHvm, EnaSupport: aws.Bool(true), ImageType: types.ImageTypeValuesMachine,
			BlockDeviceMappings: []types.BlockDeviceMapping{{DeviceName: aws.String("/dev/sda1"), Ebs: &types.EbsBlockDevice{
				VolumeSize: aws.Int32(8), VolumeType: types.VolumeTypeGp3, DeleteOnTermination: aws.Bool(true), Encrypted: aws.Bool(false),
			}}},
		}
	}
	const jammy = "ubuntu/images/hvm-ssd/ubuntu-jammy-22.04-"
	const noble = "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-"
	const gpu = "Base OSS Nvidia Driver GPU AMI (Ubuntu 24.04) 20260901"
	const oldGPU = "Base OSS Nvidia Driver GPU AMI (Ubuntu 22.04) 20260908"
	xvda := func(i types.Image) types.Image {
		i.RootDeviceName, i.BlockDeviceMappings[0].DeviceName = aws.String("/dev/xvda"), aws.String("/dev/xvda")
		return i
	}
	return []types.Image{
		image("ami-0abc0000000000001", jammy+"amd64-server-20240101", Canonical, "2024-01-01T00:00:00.000Z", types.ArchitectureValuesX8664),
		image(ImageAMD64, jammy+"amd64-server-20260901", Canonical, "2026-09-01T00:00:00.000Z", types.ArchitectureValuesX8664),
		image(ImageARM64, jammy+"arm64-server-20260901", Canonical, "2026-09-01T00:00:00.000Z", types.ArchitectureValuesArm64),
		image(ImageNobleAMD64, noble+"amd64-server-20260901", Canonical, "2026-09-01T00:00:00.000Z", types.ArchitectureValuesX8664),
		image(ImageNobleARM64, noble+"arm64-server-20260901", Canonical, "2026-09-01T00:00:00.000Z", types.ArchitectureValuesArm64),
		image(ImageGPUAMD64, "Deep Learning "+gpu, amazon, "2026-09-01T00:00:00.000Z", types.ArchitectureValuesX8664),
		image(ImageOldGPUAMD64, "Deep Learning "+oldGPU, amazon, "2026-09-08T00:00:00.000Z", types.ArchitectureValuesX8664),
		image(ImageGPUARM64, "Deep Learning ARM64 "+gpu, amazon, "2026-09-01T00:00:00.000Z", types.ArchitectureValuesArm64),
		xvda(image(ImageDebian, "debian-12-amd64-20260901", "136693071363", "2026-09-01T00:00:00.000Z", types.ArchitectureValuesX8664)),
		image(ImageMine, "own-image", Account, "2026-10-01T00:00:00.000Z", types.ArchitectureValuesX8664),
	}
}

func imageLook() look[types.Image] {
	return look[types.Image]{
		tags: func(v types.Image) []types.Tag { return v.Tags },
		field: func(v types.Image, name string) ([]string, bool) {
			switch name {
			case "image-id":
				return []string{*v.ImageId}, true
			case "name":
				return []string{*v.Name}, true
			case "architecture":
				return []string{string(v.Architecture)}, true
			case "state":
				return []string{string(v.State)}, true
			case "owner-id":
				return []string{*v.OwnerId}, true
			case "virtualization-type":
				return []string{string(v.VirtualizationType)}, true
			case "root-device-type":
				return []string{string(v.RootDeviceType)}, true
			case "is-public":
				return []string{truth(v.Public)}, true
			case "image-type":
				return []string{string(v.ImageType)}, true
			}
			return nil, false
		},
	}
}

func (w *World) offeredImages() []types.Image {
	return slices.DeleteFunc(images(), func(v types.Image) bool { return slices.Contains(w.withdrawn, *v.ImageId) })
}

func (w *World) imageOf(id string) (types.Image, bool) {
	for _, v := range w.offeredImages() {
		if *v.ImageId == id {
			return v, true
		}
	}
	return types.Image{}, false
}

func (s *site) describeImages(in *ec2.DescribeImagesInput) (*ec2.DescribeImagesOutput, error) {
	var all []types.Image
	for _, id := range in.ImageIds {
		if _, ok := s.imageOf(id); !ok {
			return nil, refuse(400, "InvalidAMIID.NotFound", "The image id '["+id+"]' does not exist")
		}
	}
	for _, v := range s.offeredImages() {
		owned := len(in.Owners) == 0 || slices.ContainsFunc(in.Owners, func(owner string) bool {
			return owner == *v.OwnerId || owner == "self" && *v.OwnerId == Account || owner == "amazon" && *v.OwnerId == amazon
		})
		if owned && (len(in.ImageIds) == 0 || slices.Contains(in.ImageIds, *v.ImageId)) {
			all = append(all, v)
		}
	}
	all, err := filterObjects(all, in.Filters, imageLook())
	if err != nil {
		return nil, err
	}
	some, next, err := page(s, all, in.NextToken, in.MaxResults)
	return &ec2.DescribeImagesOutput{Images: some, NextToken: next}, err
}

// WithdrawImage removes an image, and the public parameter that names it.
func (w *World) WithdrawImage(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.withdrawn = append(w.withdrawn, id)
}
