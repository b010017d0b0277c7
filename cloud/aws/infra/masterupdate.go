package infra

import (
	"context"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

const notFound = cloud.NotFound

// Update changes tags, groups and the size of its disk while it runs, and its
// type between a stop and a start.
func (m *Master) Update(ctx context.Context, drift []resource.Drift) error {
	if err := m.In.retag(ctx, m.id, drift); err != nil {
		return err
	}
	restart := false
	for _, d := range drift {
		var err error
		switch d.Path {
		case "groups":
			_, err = m.In.Clients.EC2.ModifyInstanceAttribute(ctx, &ec2.ModifyInstanceAttributeInput{
				InstanceId: aws.String(m.id), Groups: m.groups(),
			})
		case "metadata-tokens", "metadata-hops":
			_, err = m.In.Clients.EC2.ModifyInstanceMetadataOptions(ctx, &ec2.ModifyInstanceMetadataOptionsInput{
				InstanceId: aws.String(m.id), HttpTokens: types.HttpTokensStateRequired, HttpPutResponseHopLimit: aws.Int32(metadataHops),
			})
		case "root-size":
			err = m.growRoot(ctx)
		case "type":
			restart, err = true, m.retype(ctx)
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
	return m.restart(ctx)
}

// retype stops the machine and gives it another type.
func (m *Master) retype(ctx context.Context) error {
	if err := m.In.stop(ctx, m.id); err != nil {
		return err
	}
	_, err := m.In.Clients.EC2.ModifyInstanceAttribute(ctx, &ec2.ModifyInstanceAttributeInput{
		InstanceId: aws.String(m.id), InstanceType: &types.AttributeValue{Value: aws.String(m.Type)},
	})
	return err
}

// restart starts a machine that is stopped or about to be.
func (m *Master) restart(ctx context.Context) error {
	live, err := m.In.awaitMachine(ctx, m.id, toStop, types.InstanceStateNameStopped, types.InstanceStateNameRunning, types.InstanceStateNamePending)
	if err != nil || stateOf(live) != types.InstanceStateNameStopped {
		return err
	}
	return m.In.start(ctx, m.id)
}

// diskDrift compares the size of its own disk, which only grows: the system on
// it takes the room at its next boot.
func (m *Master) diskDrift(ctx context.Context, live types.Instance) ([]resource.Drift, error) {
	id := rootVolume(live)
	if id == "" {
		return nil, nil
	}
	var v types.Volume
	err := m.In.sure(ctx, id, func() (err error) {
		v, err = m.In.volume(ctx, id)
		return err
	})
	if err != nil {
		return nil, gone(err)
	}
	if have := aws.ToInt32(v.Size); have < m.RootGiB {
		return []resource.Drift{{Path: "root-size", Have: gib(have), Want: gib(m.RootGiB)}}, nil
	}
	return nil, nil
}

func (m *Master) growRoot(ctx context.Context) error {
	live, err := m.In.machine(ctx, m.id)
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

func gib(n int32) string { return strconv.Itoa(int(n)) + " GiB" }
