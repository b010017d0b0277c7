package facts

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/det-deploy/det-deploy/cloud"
)

// VolumeZone returns the zone of an existing volume.
func (f Facts) VolumeZone(ctx context.Context, id string) (string, error) {
	out, err := f.Clients.EC2.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{VolumeIds: []string{id}})
	if err != nil {
		return "", fmt.Errorf("describe the existing volume %s: %w", id, err)
	}
	for _, v := range out.Volumes {
		return aws.ToString(v.AvailabilityZone), nil
	}
	return "", nil
}

// SubnetZones returns the zones of existing subnets.
func (f Facts) SubnetZones(ctx context.Context, ids []string) (map[string]string, error) {
	out, err := f.Clients.EC2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: ids})
	if err != nil {
		return nil, fmt.Errorf("describe the existing subnets: %w", err)
	}
	zones := make(map[string]string, len(out.Subnets))
	for _, s := range out.Subnets {
		zones[aws.ToString(s.SubnetId)] = aws.ToString(s.AvailabilityZone)
	}
	return zones, nil
}

// DiskKey returns the default KMS key for EBS encryption in the region.
func (f Facts) DiskKey(ctx context.Context) (string, error) {
	out, err := f.Clients.EC2.GetEbsDefaultKmsKeyId(ctx, &ec2.GetEbsDefaultKmsKeyIdInput{})
	if err != nil {
		return "", fmt.Errorf("read the default EBS encryption key: %w", err)
	}
	return aws.ToString(out.KmsKeyId), nil
}

// RoleARN returns the ARN of a role. The role's name does not include its path.
func (f Facts) RoleARN(ctx context.Context, role string) (string, error) {
	out, err := f.readRole(ctx, role)
	if err != nil {
		return "", fmt.Errorf("read the existing role %s: %w", role, err)
	}
	return aws.ToString(out.Role.Arn), nil
}

// readRole reads a role given by its name, with or without its path, or by its ARN.
func (f Facts) readRole(ctx context.Context, role string) (*iam.GetRoleOutput, error) {
	return f.Clients.IAM.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String(role[strings.LastIndex(role, "/")+1:])})
}

// InstanceProfile is an instance profile of the user.
type InstanceProfile struct {
	// ARN is that of the profile, Role that of its role.
	ARN  string `json:"arn"`
	Role string `json:"role"`
}

// InstanceProfile reads an instance profile given by its name, with or without its path, or by its
// ARN. It returns an error if the profile has no role.
func (f Facts) InstanceProfile(ctx context.Context, profile string) (InstanceProfile, error) {
	name := profile[strings.LastIndex(profile, "/")+1:]
	out, err := f.Clients.IAM.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: &name})
	if err != nil {
		return InstanceProfile{}, fmt.Errorf("read the existing instance profile %s: %w", profile, err)
	}
	for _, r := range out.InstanceProfile.Roles {
		return InstanceProfile{ARN: aws.ToString(out.InstanceProfile.Arn), Role: aws.ToString(r.Arn)}, nil
	}
	return InstanceProfile{}, errUnfit("iam:GetInstanceProfile", "instance profile "+profile, "it has no role, so its machines have no credentials", "add a role to it with `aws iam add-role-to-instance-profile`")
}

// VolumeFree returns an error if a volume is attached to an instance that does not belong to the
// cluster.
func (f Facts) VolumeFree(ctx context.Context, id, cluster string) error {
	out, err := f.Clients.EC2.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{VolumeIds: []string{id}})
	if err != nil {
		return err
	}
	for _, v := range out.Volumes {
		for _, a := range v.Attachments {
			by := aws.ToString(a.InstanceId)
			owner, err := f.clusterOf(ctx, by)
			if err != nil {
				return err
			}
			if owner != cluster {
				return errUnfit("ec2:DescribeVolumes", id, "it is attached to "+by, "detach it, or choose another with --data-volume")
			}
		}
	}
	return nil
}

// clusterOf returns the cluster of an instance, or "".
func (f Facts) clusterOf(ctx context.Context, id string) (string, error) {
	out, err := f.Clients.EC2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		return "", err
	}
	for _, r := range out.Reservations {
		for _, i := range r.Instances {
			return machineOf(i).Cluster, nil
		}
	}
	return "", nil
}

// SnapshotFits returns an error if the snapshot is unusable for a volume of want GB.
func (f Facts) SnapshotFits(ctx context.Context, id string, want int) error {
	out, err := f.Clients.EC2.DescribeSnapshots(ctx, &ec2.DescribeSnapshotsInput{SnapshotIds: []string{id}})
	if err != nil {
		return err
	}
	for _, s := range out.Snapshots {
		if size := int(aws.ToInt32(s.VolumeSize)); size > want {
			return errUnfit("ec2:DescribeSnapshots", id, fmt.Sprintf("it has %d GB, but the data volume has only %d GB", size, want), fmt.Sprintf("set --data-volume-size %d", size))
		}
		if s.State == types.SnapshotStateError {
			return errUnfit("ec2:DescribeSnapshots", id, "its state is error", "")
		}
	}
	return nil
}

// RoleForMachines returns an error if EC2 instances cannot assume the role, given by its name or
// ARN.
func (f Facts) RoleForMachines(ctx context.Context, role string) error {
	out, err := f.readRole(ctx, role)
	if err != nil {
		return err
	}
	trust, err := url.QueryUnescape(aws.ToString(out.Role.AssumeRolePolicyDocument))
	if err != nil || !strings.Contains(trust, "ec2.amazonaws.com") {
		return errUnfit("iam:GetRole", role, "its trust policy does not allow ec2.amazonaws.com to assume it", "allow ec2.amazonaws.com in the role's trust policy")
	}
	return nil
}

// LogGroupExists returns a NotFound error if the log group does not exist.
func (f Facts) LogGroupExists(ctx context.Context, name string) error {
	p := cloudwatchlogs.NewDescribeLogGroupsPaginator(f.Clients.Logs, &cloudwatchlogs.DescribeLogGroupsInput{LogGroupNamePrefix: &name})
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, g := range page.LogGroups {
			if aws.ToString(g.LogGroupName) == name {
				return nil
			}
		}
	}
	return &cloud.Error{Kind: cloud.NotFound, Op: "logs:DescribeLogGroups", Resource: name, Err: errors.New("it does not exist")}
}

// errUnfit returns the error for an existing resource that cannot be used, with the advice for the
// user.
func errUnfit(op, what, why, fix string) error {
	return &cloud.Error{Kind: cloud.Invalid, Op: op, Resource: what, Fix: fix, Err: errors.New(why)}
}
