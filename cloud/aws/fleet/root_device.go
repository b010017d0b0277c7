package fleet

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/det-deploy/det-deploy/cloud"
)

// usualRoot is the root device of most images. Determined 0.38.1 always uses it.
const usualRoot = "/dev/sda1"

// rootDevice returns the device name of the image's root volume. With another name, size and
// encryption would apply to a second, empty volume. If the caller lacks the permission to describe
// images, it returns the usual name.
func (f *Fleet) rootDevice(ctx context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.root != "" {
		return f.root, nil
	}
	out, err := f.ec2.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: []string{f.cfg.Image}})
	switch {
	case cloud.KindOf(err) == cloud.Denied:
		f.cfg.Log.WarnContext(ctx, "cannot read the image's root device without ec2:DescribeImages; using the default",
			"pool", f.cfg.Pool, "image", f.cfg.Image, "device", usualRoot)
	case err != nil:
		return "", err
	case len(out.Images) == 1:
		f.root = aws.ToString(out.Images[0].RootDeviceName)
	}
	if f.root == "" {
		f.root = usualRoot
	}
	return f.root, nil
}
