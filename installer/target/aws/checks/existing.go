package checks

import (
	"cmp"
	"context"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	sm "github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/hosted/machines"
)

// checkImages checks that each image exists, supports its instance types and fits its
// disk.
func (c *checker) checkImages(ctx context.Context) doctor.Result {
	uses := map[string][]machines.Use{}
	add := func(image string, u machines.Use) { uses[image] = append(uses[image], u) }
	m := c.Spec.Master
	add(c.MasterImage(), machines.Use{Who: "the master", Types: []string{m.InstanceType}, Disk: m.RootVolume, Flags: "--master-image or --master-root-volume-size"})
	for name, p := range c.Spec.AllPools() {
		add(c.AgentImage(p), machines.Use{
			Who: "pool " + name, Types: p.InstanceTypes, Disk: cmp.Or(p.RootVolume, c.Spec.Agents.RootVolume),
			Flags: "--agent-image or --agent-root-volume-size",
		})
	}
	return machines.CheckImages(ctx, uses, c.Known.Types, func(ctx context.Context, id string) (machines.Image, error) {
		i, err := c.facts.Image(ctx, id)
		return machines.Image{Name: i.Name, Architecture: i.Architecture, RootSize: i.RootSize}, err
	})
}

// existingChecks returns a check for each existing resource that the user names.
func (c *checker) existingChecks() []doctor.Check {
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
		return c.facts.VolumeFree(ctx, v.ID, s.Cluster)
	})
	add("snapshot "+v.Snapshot, "choose another with --data-snapshot", v.Snapshot != "", func(ctx context.Context) error {
		return c.facts.SnapshotFits(ctx, v.Snapshot, v.Size)
	})
	add("log group "+s.Logs.Group, "make it, or choose another with --log-group", s.Logs.Group != "", func(ctx context.Context) error {
		return c.facts.LogGroupExists(ctx, s.Logs.Group)
	})
	for _, r := range []struct{ who, role string }{{"master", s.Roles.Master}, {"agent", s.Roles.Agent}} {
		add(r.who+"'s role "+r.role, "choose another with --"+r.who+"-role", r.role != "", func(ctx context.Context) error {
			return c.facts.RoleForMachines(ctx, r.role)
		})
	}
	for _, p := range []struct{ who, profile string }{{"master", s.Roles.MasterProfile}, {"agent", s.Roles.AgentProfile}} {
		add(p.who+"'s instance profile "+p.profile, "choose another with --"+p.who+"-instance-profile", p.profile != "", func(ctx context.Context) error {
			return c.facts.RoleForMachines(ctx, c.Known.Profiles[p.profile].Role)
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
