package compute

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// fixDrift changes the groups and the size of the root volume of the running instance. It stops and
// starts it to change its type.
func (m *Master) fixDrift(ctx context.Context, drift []resource.Drift) error {
	restart := false
	for _, d := range drift {
		var err error
		switch d.Path {
		case "groups":
			_, err = m.In.Clients.EC2.ModifyInstanceAttribute(ctx, &ec2.ModifyInstanceAttributeInput{
				InstanceId: aws.String(m.Identity()), Groups: m.groupNames(),
			})
		case "metadata-tokens", "metadata-hops":
			_, err = m.In.Clients.EC2.ModifyInstanceMetadataOptions(ctx, &ec2.ModifyInstanceMetadataOptionsInput{
				InstanceId: aws.String(m.Identity()), HttpTokens: types.HttpTokensStateRequired, HttpPutResponseHopLimit: aws.Int32(metadataHops),
			})
		case "root-size":
			err = m.growRoot(ctx)
		case "type":
			restart, err = true, m.changeType(ctx)
		case "state":
			restart = true
		}
		if err != nil {
			return err
		}
	}
	if !restart {
		return nil
	}
	return m.startStopped(ctx)
}

// changeType stops the instance and changes its type.
func (m *Master) changeType(ctx context.Context) error {
	if err := stopMachine(ctx, m.In, m.Identity()); err != nil {
		return err
	}
	_, err := m.In.Clients.EC2.ModifyInstanceAttribute(ctx, &ec2.ModifyInstanceAttributeInput{
		InstanceId: aws.String(m.Identity()), InstanceType: &types.AttributeValue{Value: aws.String(m.Type)},
	})
	return err
}

// startStopped starts an instance that is stopped or stopping.
func (m *Master) startStopped(ctx context.Context) error {
	live, err := AwaitMachine(ctx, m.In, m.Identity(), toStop, types.InstanceStateNameStopped, types.InstanceStateNameRunning, types.InstanceStateNamePending)
	if err != nil || stateOf(live) != types.InstanceStateNameStopped {
		return err
	}
	return startMachine(ctx, m.In, m.Identity())
}

// diskDrift compares the size of the root volume, which can only grow. The operating system extends
// the file system at its next boot.
func (m *Master) diskDrift(ctx context.Context, live types.Instance) ([]resource.Drift, error) {
	id := rootVolume(live)
	if id == "" {
		return nil, nil
	}
	var v types.Volume
	err := m.In.Waiter().LookUpListed(ctx, id, func() (err error) {
		v, err = storage.DescribeVolume(ctx, m.In, id)
		return err
	})
	if err != nil {
		return nil, infra.IgnoreMissing(err)
	}
	if have := aws.ToInt32(v.Size); have < m.RootGiB {
		return []resource.Drift{{Path: "root-size", Have: storage.GiB(have), Want: storage.GiB(m.RootGiB)}}, nil
	}
	return nil, nil
}

func (m *Master) growRoot(ctx context.Context) error {
	live, err := describeMachine(ctx, m.In, m.Identity())
	if err != nil {
		return err
	}
	_, err = m.In.Clients.EC2.ModifyVolume(ctx, &ec2.ModifyVolumeInput{
		VolumeId: aws.String(rootVolume(live)), Size: aws.Int32(m.RootGiB),
	})
	return err
}

func rootVolume(i types.Instance) string {
	for _, b := range i.BlockDeviceMappings {
		if aws.ToString(b.DeviceName) == aws.ToString(i.RootDeviceName) && b.Ebs != nil {
			return aws.ToString(b.Ebs.VolumeId)
		}
	}
	return ""
}
