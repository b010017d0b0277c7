package awstest_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/api"
)

func machineFacts() []fact {
	return []fact{
		{name: "a launch with the same token is one launch", check: func(t *testing.T, s stand) {
			once := func(in *ec2.RunInstancesInput) { in.ClientToken = aws.String("token-1") }
			a, b := s.machine(t, once), s.machine(t, once)
			if *a.InstanceId != *b.InstanceId {
				t.Errorf("got %s and %s, want one machine", *a.InstanceId, *b.InstanceId)
			}
			refused[*ec2.RunInstancesOutput](t, cloud.Conflict)(s.EC2.RunInstances(t.Context(), s.launch(func(in *ec2.RunInstancesInput) { once(in); in.InstanceType = "m5.large" })))
		}},
		{name: "a launch names things that exist", check: func(t *testing.T, s stand) {
			for _, tc := range []struct {
				name string
				f    func(*ec2.RunInstancesInput)
				want cloud.Kind
			}{
				{"image", func(in *ec2.RunInstancesInput) { in.ImageId = aws.String("ami-0123456789abcdef0") }, cloud.NotFound},
				{"subnet", func(in *ec2.RunInstancesInput) { in.SubnetId = aws.String("subnet-0123456789abcdef0") }, cloud.NotFound},
				{"group", func(in *ec2.RunInstancesInput) { in.SecurityGroupIds = []string{"sg-0123456789abcdef0"} }, cloud.NotFound},
				{"profile", func(in *ec2.RunInstancesInput) {
					in.IamInstanceProfile = &types.IamInstanceProfileSpecification{Name: aws.String("nobody")}
				}, cloud.NotFound},
				{"user data", func(in *ec2.RunInstancesInput) {
					in.UserData = aws.String(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 16385))))
				}, cloud.Invalid},
			} {
				_, err := s.EC2.RunInstances(t.Context(), s.launch(tc.f))
				if got := cloud.KindOf(err); got != tc.want {
					t.Errorf("%s: got %q of %v, want %q", tc.name, got, err, tc.want)
				}
			}
		}},
		{name: "a launch names a type that exists", moto: "has another code for it", check: func(t *testing.T, s stand) {
			refused[*ec2.RunInstancesOutput](t, cloud.Invalid)(s.EC2.RunInstances(t.Context(), s.launch(func(in *ec2.RunInstancesInput) { in.InstanceType = "t9.colossal" })))
		}},
		{name: "a launch names a key pair that exists", moto: "does not look for it", check: func(t *testing.T, s stand) {
			refused[*ec2.RunInstancesOutput](t, cloud.NotFound)(s.EC2.RunInstances(t.Context(), s.launch(func(in *ec2.RunInstancesInput) { in.KeyName = aws.String("nobody") })))
		}},
		{name: "an image fits its machine", moto: "does not compare architectures", check: func(t *testing.T, s stand) {
			refused[*ec2.RunInstancesOutput](t, cloud.Invalid)(s.EC2.RunInstances(t.Context(), s.launch(func(in *ec2.RunInstancesInput) { in.ImageId = &s.arm64 })))
		}},
		{name: "machines and disks carry the tags of their launch", check: func(t *testing.T, s stand) {
			m := s.machine(t, func(in *ec2.RunInstancesInput) {
				in.TagSpecifications = append(tags(types.ResourceTypeInstance, "lab"), tags(types.ResourceTypeVolume, "lab")...)
			})
			out := get[*ec2.DescribeInstancesOutput](t)(s.EC2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{Filters: byTag("lab")}))
			if len(out.Reservations) != 1 || *out.Reservations[0].Instances[0].InstanceId != *m.InstanceId {
				t.Errorf("got %d reservations, want the machine's", len(out.Reservations))
			}
			vols := get[*ec2.DescribeVolumesOutput](t)(s.EC2.DescribeVolumes(t.Context(), &ec2.DescribeVolumesInput{Filters: byTag("lab")})).Volumes
			if len(vols) != 1 || len(vols[0].Attachments) != 1 {
				t.Errorf("got %+v, want the machine's disk", vols)
			}
		}},
		{name: "asking whether one may makes nothing", check: func(t *testing.T, s stand) {
			_, err := s.EC2.RunInstances(t.Context(), s.launch(func(in *ec2.RunInstancesInput) { in.DryRun = aws.Bool(true) }))
			if err == nil || api.Allowed(err) != nil {
				t.Errorf("got %v, want that it would be allowed", err)
			}
			out := get[*ec2.DescribeInstancesOutput](t)(s.EC2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{}))
			if len(out.Reservations) != 0 {
				t.Errorf("got %d machines, want none", len(out.Reservations))
			}
		}},
		{name: "a protected machine stays until it is released", check: func(t *testing.T, s stand) {
			id := s.machine(t, nil).InstanceId
			get[*ec2.ModifyInstanceAttributeOutput](t)(s.EC2.ModifyInstanceAttribute(t.Context(), &ec2.ModifyInstanceAttributeInput{InstanceId: id, DisableApiTermination: &types.AttributeBooleanValue{Value: aws.Bool(true)}}))
			refused[*ec2.TerminateInstancesOutput](t, cloud.Conflict)(s.EC2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{*id}}))
			get[*ec2.ModifyInstanceAttributeOutput](t)(s.EC2.ModifyInstanceAttribute(t.Context(), &ec2.ModifyInstanceAttributeInput{InstanceId: id, DisableApiTermination: &types.AttributeBooleanValue{Value: aws.Bool(false)}}))
			s.end(t, *id)
			s.end(t, *id)
			if got := s.instance(t, *id).State.Name; got != types.InstanceStateNameTerminated {
				t.Errorf("got %s, want that it is still described, as terminated", got)
			}
		}},
		{name: "type and user data change while a machine is stopped", check: func(t *testing.T, s stand) {
			id := s.machine(t, nil).InstanceId
			s.instance(t, *id)
			resize := &ec2.ModifyInstanceAttributeInput{InstanceId: id, InstanceType: &types.AttributeValue{Value: aws.String("m5.large")}}
			refused[*ec2.ModifyInstanceAttributeOutput](t, cloud.Conflict)(s.EC2.ModifyInstanceAttribute(t.Context(), resize))
			get[*ec2.StopInstancesOutput](t)(s.EC2.StopInstances(t.Context(), &ec2.StopInstancesInput{InstanceIds: []string{*id}}))
			if got := s.instance(t, *id).State.Name; got != types.InstanceStateNameStopped {
				t.Fatalf("got %s, want stopped", got)
			}
			get[*ec2.ModifyInstanceAttributeOutput](t)(s.EC2.ModifyInstanceAttribute(t.Context(), resize))
			get[*ec2.ModifyInstanceAttributeOutput](t)(s.EC2.ModifyInstanceAttribute(t.Context(), &ec2.ModifyInstanceAttributeInput{InstanceId: id, UserData: &types.SecureBlobAttributeValue{Value: []byte("#!/bin/sh\n")}}))
			get[*ec2.StartInstancesOutput](t)(s.EC2.StartInstances(t.Context(), &ec2.StartInstancesInput{InstanceIds: []string{*id}}))
			m := s.instance(t, *id)
			if m.State.Name != types.InstanceStateNameRunning || m.InstanceType != "m5.large" {
				t.Errorf("got %s and %s, want a larger machine that runs", m.State.Name, m.InstanceType)
			}
		}},
		{name: "spot machines have requests that close with them", check: func(t *testing.T, s stand) {
			m := s.machine(t, func(in *ec2.RunInstancesInput) {
				in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot, SpotOptions: &types.SpotMarketOptions{MaxPrice: aws.String("1.00"), SpotInstanceType: types.SpotInstanceTypeOneTime}}
				in.TagSpecifications = append(tags(types.ResourceTypeInstance, "lab"), tags(types.ResourceTypeSpotInstancesRequest, "lab")...)
			})
			if live := s.instance(t, *m.InstanceId); live.InstanceLifecycle != types.InstanceLifecycleTypeSpot {
				t.Errorf("got lifecycle %q, want spot", live.InstanceLifecycle)
			}
			requests := func() []types.SpotInstanceRequest {
				return get[*ec2.DescribeSpotInstanceRequestsOutput](t)(s.EC2.DescribeSpotInstanceRequests(t.Context(), &ec2.DescribeSpotInstanceRequestsInput{Filters: byTag("lab")})).SpotInstanceRequests
			}
			if got := requests(); len(got) != 1 || got[0].State != types.SpotInstanceStateActive || aws.ToString(got[0].InstanceId) != *m.InstanceId {
				t.Fatalf("got %+v, want an active request with its machine", got)
			}
			s.end(t, *m.InstanceId)
			s.instance(t, *m.InstanceId)
			if got := requests(); len(got) != 1 || got[0].State != types.SpotInstanceStateClosed {
				t.Errorf("got %+v, want a closed request", got)
			}
		}},
		{name: "types have their GPUs", check: func(t *testing.T, s stand) {
			out := get[*ec2.DescribeInstanceTypesOutput](t)(s.EC2.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"g5.12xlarge"}}))
			i := out.InstanceTypes[0]
			if i.GpuInfo == nil || *i.GpuInfo.Gpus[0].Count != 4 || *i.GpuInfo.Gpus[0].Name != "A10G" || *i.VCpuInfo.DefaultVCpus != 48 {
				t.Errorf("got %+v, want four A10G and 48 vCPUs", i.GpuInfo)
			}
			refused[*ec2.DescribeInstanceTypesOutput](t, cloud.Invalid)(s.EC2.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"t9.colossal"}}))
		}},
		{name: "zones list their types", check: func(t *testing.T, s stand) {
			out := get[*ec2.DescribeInstanceTypeOfferingsOutput](t)(s.EC2.DescribeInstanceTypeOfferings(t.Context(), &ec2.DescribeInstanceTypeOfferingsInput{
				LocationType: types.LocationTypeAvailabilityZone, Filters: []types.Filter{{Name: aws.String("instance-type"), Values: []string{"g5.xlarge"}}},
			}))
			if len(out.InstanceTypeOfferings) == 0 {
				t.Error("got no zone, want some")
			}
		}},
	}
}

func diskFacts() []fact {
	volume := func(t *testing.T, s stand, token string) string {
		t.Helper()
		in := &ec2.CreateVolumeInput{AvailabilityZone: aws.String("us-west-2a"), Size: aws.Int32(100), VolumeType: types.VolumeTypeGp3, Encrypted: aws.Bool(true), TagSpecifications: tags(types.ResourceTypeVolume, "lab")}
		if token != "" {
			in.ClientToken = &token
		}
		return *get[*ec2.CreateVolumeOutput](t)(s.EC2.CreateVolume(t.Context(), in)).VolumeId
	}
	inZone := func(in *ec2.RunInstancesInput) {
		in.Placement = &types.Placement{AvailabilityZone: aws.String("us-west-2a")}
	}
	return []fact{
		{name: "a disk with the same token is one disk", moto: "does not know the token of CreateVolume", check: func(t *testing.T, s stand) {
			if a, b := volume(t, s, "one"), volume(t, s, "one"); a != b {
				t.Errorf("got %s and %s, want one disk", a, b)
			}
		}},
		{name: "a disk in use stays, and outlives its machine when it was added", check: func(t *testing.T, s stand) {
			id := volume(t, s, "")
			m := s.machine(t, inZone)
			s.instance(t, *m.InstanceId)
			attach := &ec2.AttachVolumeInput{VolumeId: &id, InstanceId: m.InstanceId, Device: aws.String("/dev/sdf")}
			get[*ec2.AttachVolumeOutput](t)(s.EC2.AttachVolume(t.Context(), attach))
			refused[*ec2.DeleteVolumeOutput](t, cloud.Conflict)(s.EC2.DeleteVolume(t.Context(), &ec2.DeleteVolumeInput{VolumeId: &id}))
			s.end(t, *m.InstanceId)
			s.instance(t, *m.InstanceId)
			vols := get[*ec2.DescribeVolumesOutput](t)(s.EC2.DescribeVolumes(t.Context(), &ec2.DescribeVolumesInput{})).Volumes
			if len(vols) != 1 || *vols[0].VolumeId != id || vols[0].State != types.VolumeStateAvailable {
				t.Errorf("got %+v, want the added disk only, free", vols)
			}
			get[*ec2.DeleteVolumeOutput](t)(s.EC2.DeleteVolume(t.Context(), &ec2.DeleteVolumeInput{VolumeId: &id}))
		}},
		{name: "a disk has one machine", moto: "gives it to another, too", check: func(t *testing.T, s stand) {
			id, m := volume(t, s, ""), s.machine(t, inZone)
			s.instance(t, *m.InstanceId)
			attach := &ec2.AttachVolumeInput{VolumeId: &id, InstanceId: m.InstanceId, Device: aws.String("/dev/sdf")}
			get[*ec2.AttachVolumeOutput](t)(s.EC2.AttachVolume(t.Context(), attach))
			refused[*ec2.AttachVolumeOutput](t, cloud.Conflict)(s.EC2.AttachVolume(t.Context(), attach))
		}},
		{name: "a disk is made from a snapshot of another", check: func(t *testing.T, s stand) {
			id := volume(t, s, "")
			snap := *get[*ec2.CreateSnapshotOutput](t)(s.EC2.CreateSnapshot(t.Context(), &ec2.CreateSnapshotInput{VolumeId: &id, TagSpecifications: tags(types.ResourceTypeSnapshot, "lab")})).SnapshotId
			found := get[*ec2.DescribeSnapshotsOutput](t)(s.EC2.DescribeSnapshots(t.Context(), &ec2.DescribeSnapshotsInput{OwnerIds: []string{"self"}, Filters: byTag("lab")})).Snapshots
			if len(found) != 1 || found[0].State != types.SnapshotStateCompleted {
				t.Errorf("got %+v, want one that is complete", found)
			}
			v := get[*ec2.CreateVolumeOutput](t)(s.EC2.CreateVolume(t.Context(), &ec2.CreateVolumeInput{AvailabilityZone: aws.String("us-west-2a"), SnapshotId: &snap}))
			if *v.Size != 100 {
				t.Errorf("got %d GiB, want the snapshot's 100", *v.Size)
			}
			get[*ec2.DeleteSnapshotOutput](t)(s.EC2.DeleteSnapshot(t.Context(), &ec2.DeleteSnapshotInput{SnapshotId: &snap}))
		}},
		{name: "a disk grows and does not shrink", moto: "lets it shrink", check: func(t *testing.T, s stand) {
			id := volume(t, s, "")
			get[*ec2.ModifyVolumeOutput](t)(s.EC2.ModifyVolume(t.Context(), &ec2.ModifyVolumeInput{VolumeId: &id, Size: aws.Int32(200)}))
			refused[*ec2.ModifyVolumeOutput](t, cloud.Invalid)(s.EC2.ModifyVolume(t.Context(), &ec2.ModifyVolumeInput{VolumeId: &id, Size: aws.Int32(50)}))
		}},
		{name: "a disk and its machine are in one zone", moto: "does not compare zones", check: func(t *testing.T, s stand) {
			id := volume(t, s, "")
			m := s.machine(t, func(in *ec2.RunInstancesInput) {
				in.Placement = &types.Placement{AvailabilityZone: aws.String("us-west-2b")}
			})
			s.instance(t, *m.InstanceId)
			refused[*ec2.AttachVolumeOutput](t, cloud.Invalid)(s.EC2.AttachVolume(t.Context(), &ec2.AttachVolumeInput{VolumeId: &id, InstanceId: m.InstanceId, Device: aws.String("/dev/sdf")}))
		}},
	}
}
