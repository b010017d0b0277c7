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

// DataDevice is the name under which a data volume is attached. The machine
// finds it by the volume's identity: on today's types this name is a fiction.
const DataDevice = "/dev/sdf"

// Attachment has a volume be a machine's disk.
type Attachment struct {
	In *mark.Cluster
	// Name is the volume's.
	Name     string
	Volume   infra.Ref
	Instance infra.Ref

	infra.Learned
}

var _ resource.Resource = (*Attachment)(nil)

// ID is "aws/volume-attachment/" and its name.
func (a *Attachment) ID() string { return mark.ResourceID(mark.KindAttachment, a.Name) }

// Kind is KindAttachment.
func (*Attachment) Kind() string { return mark.KindAttachment }

// Needs the volume and the machine.
func (a *Attachment) Needs() []string { return infra.NeedsOf(a.Volume, a.Instance) }

// Find looks whose disk the volume is. One that is another machine's is not
// taken from it: creating then is refused by Amazon.
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

// Create attaches it, once the machine runs and the volume is ready.
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
		return nil // by an earlier call whose reply was lost
	}
	return err
}

// awaitVolume waits until the volume is ready, and notes that it is blank no more: from
// when it is attached on, what is on it is kept. A machine that is on its way out may still
// have it.
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

// Delete stops the machine, so that everything is on the disk, and takes it off.
func (a *Attachment) Delete(ctx context.Context) error { return DetachVolume(ctx, a.In, a.Identity()) }

// DetachVolume stops the machine that has a volume, and takes it off.
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

// refuseHeldVolume refuses a volume that another machine has and keeps.
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
		Fix: "detach it from " + at + " first", Err: fmt.Errorf("is a disk of machine %s", at),
	}
}

// attachedTo is the machine that has v.
func attachedTo(v types.Volume) string {
	for _, a := range v.Attachments {
		if a.State != types.VolumeAttachmentStateDetached {
			return aws.ToString(a.InstanceId)
		}
	}
	return ""
}

// ListAttachments lists our volumes that are some machine's disk.
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
