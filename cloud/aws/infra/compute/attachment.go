package compute

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// DataDevice is the device name of the attached data volume. The machine finds the volume by its
// ID, because Nitro instances ignore this name.
const DataDevice = "/dev/sdf"

// Attachment attaches a volume to an instance.
type Attachment struct {
	In *mark.Cluster
	// Name is the name of the volume.
	Name     string
	Volume   infra.Ref
	Instance infra.Ref

	infra.Learned
}

var _ resource.Resource = (*Attachment)(nil)

// ID returns the resource ID "aws/volume-attachment/NAME".
func (a *Attachment) ID() string { return mark.ResourceID(mark.KindAttachment, a.Name) }

// Kind returns KindAttachment.
func (*Attachment) Kind() string { return mark.KindAttachment }

// Needs returns the IDs of the volume and the instance.
func (a *Attachment) Needs() []string { return infra.NeedsOf(a.Volume, a.Instance) }

// Find finds the instance to which the volume is attached. It does not detach the volume from
// another instance: Create then fails with an error of EC2.
func (a *Attachment) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	if a.Volume.Identity() == "" || a.Instance.Identity() == "" {
		return resource.Found{}, nil, nil
	}
	var v types.Volume
	err := a.In.Waiter().LookUpListed(ctx, a.ID(), func() (err error) {
		v, err = storage.DescribeVolume(ctx, a.In, a.Volume.Identity())
		return err
	})
	if err != nil {
		return resource.Found{}, nil, infra.IgnoreMissing(err)
	}
	if at := attachedTo(v); at == "" || at != a.Instance.Identity() {
		return resource.Found{}, nil, nil
	}
	a.Learn(a.Volume.Identity())
	return resource.Found{Kind: mark.KindAttachment, ID: a.Identity(), Name: a.Name}, nil, nil
}

// Create attaches the volume once the instance is running or stopped and the volume is available.
func (a *Attachment) Create(ctx context.Context) error {
	a.Learn(a.Volume.Identity())
	err := infra.SideBySide(func() error {
		_, err := AwaitMachine(ctx, a.In, a.Instance.Identity(), ToStart, types.InstanceStateNameRunning, types.InstanceStateNameStopped)
		return err
	}, func() error { return a.awaitVolume(ctx) })
	if err != nil {
		return err
	}
	_, err = a.In.Clients.EC2.AttachVolume(ctx, &ec2.AttachVolumeInput{
		VolumeId: aws.String(a.Identity()), InstanceId: aws.String(a.Instance.Identity()), Device: aws.String(DataDevice),
	})
	if cloud.KindOf(err) != cloud.Conflict && cloud.KindOf(err) != cloud.Invalid {
		return err
	}
	found, _, findErr := a.Find(ctx)
	if findErr == nil && found.Exists() {
		return nil // attached by an earlier call whose response was lost
	}
	return err
}

// awaitVolume waits until the volume is available, and removes its mark as blank: once it is
// attached, its data is retained. An instance that is being terminated may still have it attached.
func (a *Attachment) awaitVolume(ctx context.Context) error {
	return a.In.Waiter().Await(ctx, a.Identity(), toBeAttachable, func() (bool, error) {
		v, err := storage.DescribeVolume(ctx, a.In, a.Identity())
		if cloud.KindOf(err) == cloud.NotFound {
			return false, nil
		}
		if err == nil && mark.EC2TagMap(v.Tags)[mark.BlankTag] == mark.BlankYes {
			err = a.In.Retag(ctx, a.Identity(), map[string]string{mark.BlankTag: mark.BlankNo})
		}
		if err != nil || v.State == types.VolumeStateAvailable || attachedTo(v) == a.Instance.Identity() {
			return err == nil, err
		}
		return false, refuseHeldVolume(ctx, a.In, v)
	})
}

// Delete stops the instance, so that all data is written, and detaches the volume.
func (a *Attachment) Delete(ctx context.Context) error { return DetachVolume(ctx, a.In, a.Identity()) }

// DetachVolume stops the instance to which a volume is attached, and detaches the volume.
func DetachVolume(ctx context.Context, c *mark.Cluster, volume string) error {
	v, err := storage.DescribeVolume(ctx, c, volume)
	if err != nil {
		return infra.IgnoreMissing(err)
	}
	machine := attachedTo(v)
	if machine == "" {
		return nil
	}
	if err := stopMachine(ctx, c, machine); err != nil {
		return err
	}
	_, err = c.Clients.EC2.DetachVolume(ctx, &ec2.DetachVolumeInput{VolumeId: aws.String(volume), InstanceId: aws.String(machine)})
	if err != nil && cloud.KindOf(err) != cloud.NotFound && cloud.KindOf(err) != cloud.Conflict {
		return err
	}
	return c.Waiter().Await(ctx, volume, infra.ToBeFree, func() (bool, error) {
		v, err := storage.DescribeVolume(ctx, c, volume)
		if cloud.KindOf(err) == cloud.NotFound {
			return true, nil
		}
		return err == nil && attachedTo(v) == "", err
	})
}

// refuseHeldVolume returns an error if a volume is attached to another instance that is not being
// terminated.
func refuseHeldVolume(ctx context.Context, c *mark.Cluster, v types.Volume) error {
	at := attachedTo(v)
	if at == "" {
		return nil
	}
	live, err := describeMachine(ctx, c, at)
	if err != nil || isEnding(live) {
		return infra.IgnoreMissing(err)
	}
	return &cloud.Error{
		Kind: cloud.Conflict, Op: "ec2:AttachVolume", Resource: aws.ToString(v.VolumeId),
		Fix: "detach it from " + at + " first", Err: fmt.Errorf("is attached to instance %s", at),
	}
}

// attachedTo returns the instance to which v is attached, or "".
func attachedTo(v types.Volume) string {
	for _, a := range v.Attachments {
		if a.State != types.VolumeAttachmentStateDetached {
			return aws.ToString(a.InstanceId)
		}
	}
	return ""
}

// ListAttachments returns the cluster's volumes that are attached to an instance.
func ListAttachments(ctx context.Context, c *mark.Cluster) ([]resource.Found, error) {
	all, err := storage.Volumes(c).All(ctx, c.Owned())
	var out []resource.Found
	for _, v := range all {
		if attachedTo(v.Object) != "" {
			out = append(out, resource.Found{Kind: mark.KindAttachment, ID: v.Identity, Name: v.Marks[mark.ResourceTag]})
		}
	}
	return out, err
}
