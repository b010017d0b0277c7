package awstest

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func snapshotLook() look[types.Snapshot] {
	return look[types.Snapshot]{
		absent: "InvalidSnapshot.NotFound",
		tags:   func(v types.Snapshot) []types.Tag { return v.Tags },
		field: func(v types.Snapshot, name string) ([]string, bool) {
			switch name {
			case "snapshot-id":
				return []string{*v.SnapshotId}, true
			case "volume-id":
				return []string{*v.VolumeId}, true
			case "status":
				return []string{string(v.State)}, true
			case "owner-id":
				return []string{*v.OwnerId}, true
			}
			return nil, false
		},
	}
}

func (s *site) describeSnapshots(in *ec2.DescribeSnapshotsInput) (*ec2.DescribeSnapshotsOutput, error) {
	all, err := find(s.ec2.snapshots, in.SnapshotIds, in.Filters, snapshotLook())
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(v types.Snapshot) bool {
		return len(in.OwnerIds) > 0 && !slices.Contains(in.OwnerIds, *v.OwnerId) && !slices.Contains(in.OwnerIds, "self")
	})
	some, next, err := page(s, all, in.NextToken, in.MaxResults)
	return &ec2.DescribeSnapshotsOutput{Snapshots: some, NextToken: next}, err
}

// createSnapshot has no idempotency token: two calls create two snapshots.
func (s *site) createSnapshot(in *ec2.CreateSnapshotInput) (*ec2.CreateSnapshotOutput, error) {
	v, ok := s.ec2.volumes.ask(aws.ToString(in.VolumeId))
	if !ok {
		return nil, noVolume(in.VolumeId)
	}
	id := s.id("snap")
	n := s.ec2.snapshots.add(id, types.Snapshot{
		SnapshotId: &id, VolumeId: v.VolumeId, VolumeSize: v.Size, Encrypted: v.Encrypted, State: types.SnapshotStatePending, Progress: aws.String("0%"),
		StartTime: aws.Time(s.now()), OwnerId: aws.String(Account), Description: in.Description, Tags: tagged(in.TagSpecifications, types.ResourceTypeSnapshot),
	})
	s.setBusy(id)
	return &ec2.CreateSnapshotOutput{SnapshotId: &id, VolumeId: n.VolumeId, VolumeSize: n.VolumeSize, State: types.SnapshotStatePending, Encrypted: n.Encrypted, StartTime: n.StartTime, Tags: n.Tags, OwnerId: n.OwnerId}, nil
}

func (s *site) deleteSnapshot(in *ec2.DeleteSnapshotInput) (*ec2.DeleteSnapshotOutput, error) {
	id := aws.ToString(in.SnapshotId)
	if _, ok := s.ec2.snapshots.get(id); !ok {
		return nil, refuse(400, "InvalidSnapshot.NotFound", "The snapshot '"+id+"' does not exist.")
	}
	s.ec2.snapshots.remove(id)
	return &ec2.DeleteSnapshotOutput{}, nil
}

// GiveSnapshot adds a snapshot that existed before the test.
func (w *World) GiveSnapshot(sizeGiB int32) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := w.id("snap")
	w.site(w.opt.Region).ec2.snapshots.give(id, types.Snapshot{
		SnapshotId: &id, VolumeId: aws.String("vol-ffffffff"), VolumeSize: &sizeGiB, State: types.SnapshotStateCompleted, OwnerId: aws.String(Account),
		Encrypted: aws.Bool(true), StartTime: aws.Time(w.now()),
	})
	return id
}

// FailSnapshot makes EC2 give up a snapshot of Live, "snapshot snap-…", and returns it.
func (w *World) FailSnapshot(live string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if v, found := w.site(w.opt.Region).ec2.snapshots.get(strings.Fields(live)[1]); found {
		v.State = types.SnapshotStateError
	}
	return live
}
