package aws

import (
	"cmp"
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
	"github.com/aws/aws-sdk-go-v2/service/s3"
	sm "github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/hosted/machines"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// checkImages checks that each image exists, supports its instance types and fits its
// disk.
func (c *checks) checkImages(ctx context.Context) doctor.Result {
	uses := map[string][]machines.Use{}
	add := func(image string, u machines.Use) { uses[image] = append(uses[image], u) }
	m := c.Spec.Master
	add(c.masterImage(), machines.Use{Who: "the master", Types: []string{m.InstanceType}, Disk: m.RootVolume, Flags: "--master-image or --master-root-volume-size"})
	for name, p := range c.Spec.AllPools() {
		add(c.agentImage(p), machines.Use{
			Who: "pool " + name, Types: p.InstanceTypes, Disk: cmp.Or(p.RootVolume, c.Spec.Agents.RootVolume),
			Flags: "--agent-image or --agent-root-volume-size",
		})
	}
	return machines.CheckImages(ctx, uses, c.Known.Types, func(ctx context.Context, id string) (machines.Image, error) {
		i, err := c.facts.Image(ctx, id)
		return machines.Image{Name: i.Name, Architecture: i.Architecture, RootSize: i.RootSize}, err
	})
}

// existingChecks is a check for each existing resource that the user names.
func (c *checks) existingChecks() []doctor.Check {
	var out []doctor.Check
	add := func(name, fix string, given bool, look func(ctx context.Context) error) {
		if given {
			out = append(out, doctor.Existing(name, fix, look))
		}
	}
	s := c.Spec
	add("data bucket "+s.Storage.Bucket, "choose another with --data-bucket", s.Storage.Bucket != "", func(ctx context.Context) error {
		_, err := c.Clients.S3.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &s.Storage.Bucket})
		return err
	})
	v := s.Master.Volume
	add("data volume "+v.ID, "choose another with --data-volume", v.ID != "", func(ctx context.Context) error {
		return c.volumeFree(ctx, v.ID)
	})
	add("snapshot "+v.Snapshot, "choose another with --data-snapshot", v.Snapshot != "", func(ctx context.Context) error {
		return c.snapshotFits(ctx, v)
	})
	add("log group "+s.Logs.Group, "make it, or choose another with --log-group", s.Logs.Group != "", c.logGroupExists)
	for _, r := range []struct{ who, role string }{{"master", s.Roles.Master}, {"agent", s.Roles.Agent}} {
		add(r.who+"'s role "+r.role, "choose another with --"+r.who+"-role", r.role != "", func(ctx context.Context) error {
			return c.machinesTake(ctx, r.role)
		})
	}
	out = append(out, c.broughtRoles()...)
	for _, name := range c.ForeignSecrets() {
		add("secret "+name, "store it in Secrets Manager in "+s.Region, true, func(ctx context.Context) error {
			_, err := c.Clients.Secrets.DescribeSecret(ctx, &sm.DescribeSecretInput{SecretId: &name})
			return err
		})
	}
	return append(out, c.SecretChecks()...)
}

// volumeFree checks whether a volume may be attached to the master's machine: it is
// not attached, or attached to that machine already.
func (c *checks) volumeFree(ctx context.Context, id string) error {
	out, err := c.Clients.EC2.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{VolumeIds: []string{id}})
	if err != nil {
		return err
	}
	for _, v := range out.Volumes {
		for _, a := range v.Attachments {
			by := aws.ToString(a.InstanceId)
			ours, err := c.machineOurs(ctx, by)
			if err != nil {
				return err
			}
			if !ours {
				return unfitError("ec2:DescribeVolumes", id, "it is attached to "+by, "detach it, or choose another with --data-volume")
			}
		}
	}
	return nil
}

// machineOurs reports whether a machine carries the cluster's mark.
func (c *checks) machineOurs(ctx context.Context, id string) (bool, error) {
	out, err := c.Clients.EC2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		return false, err
	}
	for _, r := range out.Reservations {
		for _, i := range r.Instances {
			return c.isOwn(i.Tags), nil
		}
	}
	return false, nil
}

// snapshotFits looks whether a volume can be made from the snapshot.
func (c *checks) snapshotFits(ctx context.Context, v spec.AWSVolume) error {
	out, err := c.Clients.EC2.DescribeSnapshots(ctx, &ec2.DescribeSnapshotsInput{SnapshotIds: []string{v.Snapshot}})
	if err != nil {
		return err
	}
	for _, s := range out.Snapshots {
		if size := int(aws.ToInt32(s.VolumeSize)); size > v.Size {
			return unfitError("ec2:DescribeSnapshots", v.Snapshot, fmt.Sprintf("it is of %d GB, and the volume is to have %d", size, v.Size), fmt.Sprintf("--data-volume-size %d", size))
		}
		if s.State == types.SnapshotStateError {
			return unfitError("ec2:DescribeSnapshots", v.Snapshot, "it was never finished", "")
		}
	}
	return nil
}

// machinesTake looks whether machines may take a role.
func (c *checks) machinesTake(ctx context.Context, role string) error {
	out, err := c.Clients.IAM.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String(spec.RoleName(role))})
	if err != nil {
		return err
	}
	trust, err := url.QueryUnescape(aws.ToString(out.Role.AssumeRolePolicyDocument))
	if err != nil || !strings.Contains(trust, "ec2.amazonaws.com") {
		return unfitError("iam:GetRole", role, "its trust policy does not let ec2.amazonaws.com take it", "let EC2 take it in the role's trust policy")
	}
	return nil
}

func (c *checks) logGroupExists(ctx context.Context) error {
	p := cloudwatchlogs.NewDescribeLogGroupsPaginator(c.Clients.Logs, &cloudwatchlogs.DescribeLogGroupsInput{LogGroupNamePrefix: &c.Spec.Logs.Group})
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, g := range page.LogGroups {
			if aws.ToString(g.LogGroupName) == c.Spec.Logs.Group {
				return nil
			}
		}
	}
	return notThere("logs:DescribeLogGroups", c.Spec.Logs.Group)
}

// notThere is something that does not exist and should.
func notThere(op, what string) error {
	return &cloud.Error{Kind: cloud.NotFound, Op: op, Resource: what, Err: errors.New("it does not exist")}
}

// unfitError is an existing resource that cannot be used, with what to do.
func unfitError(op, what, why, fix string) error {
	return &cloud.Error{Kind: cloud.Invalid, Op: op, Resource: what, Fix: fix, Err: errors.New(why)}
}
