package infra

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// DataDevice is the name under which a data volume is attached. The machine
// finds it by the volume's identity: on today's types this name is a fiction.
const DataDevice = "/dev/sdf"

// Attachment has a volume be a machine's disk.
type Attachment struct {
	In *Cluster
	// Name is the volume's.
	Name     string
	Volume   Ref
	Instance Ref

	learned
}

var _ resource.Resource = (*Attachment)(nil)

// ID is "aws/volume-attachment/" and its name.
func (a *Attachment) ID() string { return resourceID(KindAttachment, a.Name) }

// Kind is KindAttachment.
func (*Attachment) Kind() string { return KindAttachment }

// Needs the volume and the machine.
func (a *Attachment) Needs() []string { return needs(a.Volume, a.Instance) }

// Find looks whose disk the volume is. One that is another machine's is not
// taken from it: creating then is refused by Amazon.
func (a *Attachment) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	if a.Volume.Identity() == "" || a.Instance.Identity() == "" {
		return resource.Found{}, nil, nil
	}
	var v types.Volume
	err := a.In.sure(ctx, a.ID(), func() (err error) {
		v, err = a.In.volume(ctx, a.Volume.Identity())
		return err
	})
	if err != nil {
		return resource.Found{}, nil, gone(err)
	}
	if at := attached(v); at == "" || at != a.Instance.Identity() {
		return resource.Found{}, nil, nil
	}
	a.id = a.Volume.Identity()
	return resource.Found{Kind: KindAttachment, ID: a.id, Name: a.Name}, nil, nil
}

// Create attaches it, once the machine runs and the volume is ready.
func (a *Attachment) Create(ctx context.Context) error {
	a.id = a.Volume.Identity()
	if _, err := a.In.awaitMachine(ctx, a.Instance.Identity(), toStart, types.InstanceStateNameRunning, types.InstanceStateNameStopped); err != nil {
		return err
	}
	// A machine that is on its way out may still have it.
	err := a.In.await(ctx, a.id, toBeAttachable, func() (bool, error) {
		v, err := a.In.volume(ctx, a.id)
		if cloud.KindOf(err) == cloud.NotFound {
			return false, nil
		}
		if err != nil || v.State == types.VolumeStateAvailable || attached(v) == a.Instance.Identity() {
			return err == nil, err
		}
		return false, a.In.held(ctx, v)
	})
	if err != nil {
		return err
	}
	_, err = a.In.Clients.EC2.AttachVolume(ctx, &ec2.AttachVolumeInput{
		VolumeId: aws.String(a.id), InstanceId: aws.String(a.Instance.Identity()), Device: aws.String(DataDevice),
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

// Delete stops the machine, so that everything is on the disk, and takes it off.
func (a *Attachment) Delete(ctx context.Context) error { return a.In.detach(ctx, a.id) }

func (c *Cluster) detach(ctx context.Context, volume string) error {
	v, err := c.volume(ctx, volume)
	if err != nil {
		return gone(err)
	}
	machine := attached(v)
	if machine == "" {
		return nil
	}
	if err := c.stop(ctx, machine); err != nil {
		return err
	}
	_, err = c.Clients.EC2.DetachVolume(ctx, &ec2.DetachVolumeInput{VolumeId: aws.String(volume), InstanceId: aws.String(machine)})
	if err != nil && cloud.KindOf(err) != cloud.NotFound && cloud.KindOf(err) != cloud.Conflict {
		return err
	}
	return c.await(ctx, volume, toBeFree, func() (bool, error) {
		v, err := c.volume(ctx, volume)
		if cloud.KindOf(err) == cloud.NotFound {
			return true, nil
		}
		return err == nil && attached(v) == "", err
	})
}

// held refuses a volume that another machine has and keeps.
func (c *Cluster) held(ctx context.Context, v types.Volume) error {
	at := attached(v)
	if at == "" {
		return nil
	}
	live, err := c.machine(ctx, at)
	if err != nil || ending(live) {
		return gone(err)
	}
	return &cloud.Error{
		Kind: cloud.Conflict, Op: "ec2:AttachVolume", Resource: aws.ToString(v.VolumeId),
		Fix: "detach it from " + at + " first", Err: fmt.Errorf("is a disk of machine %s", at),
	}
}

// attached is the machine that has v.
func attached(v types.Volume) string {
	for _, a := range v.Attachments {
		if a.State != types.VolumeAttachmentStateDetached {
			return aws.ToString(a.InstanceId)
		}
	}
	return ""
}

// attachedVolumes lists our volumes that are some machine's disk.
func attachedVolumes(ctx context.Context, c *Cluster) ([]resource.Found, error) {
	all, err := volumes().all(ctx, c, nil)
	if err != nil {
		return nil, err
	}
	var out []resource.Found
	for _, s := range all {
		if attached(s.live) != "" {
			out = append(out, resource.Found{Kind: KindAttachment, ID: s.id, Name: s.tags[ResourceTag]})
		}
	}
	return out, nil
}
