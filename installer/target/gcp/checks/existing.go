package checks

import (
	"context"
	"fmt"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/identity"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/storage"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// existingChecks returns a check for each existing resource that the user names.
func (c *checker) existingChecks() []doctor.Check {
	var out []doctor.Check
	s, disk := c.Spec, c.Spec.Master.Disk
	if b := s.Storage.Bucket; b != "" {
		out = append(out,
			doctor.Existing("data bucket "+b, "choose another with --data-bucket", func(ctx context.Context) error {
				_, err := api.Do(ctx, c.Clients.Storage.Buckets.Get(b))
				return err
			}),
			doctor.Check{Name: "data bucket may be shared", Look: func(ctx context.Context) doctor.Result { return c.checkBucketAccess(ctx, b) }})
	}
	if disk.Name != "" {
		out = append(out, doctor.Check{Name: "data disk " + disk.Name, Look: c.checkDataDisk})
	}
	if disk.Snapshot != "" {
		out = append(out, doctor.Existing("snapshot "+disk.Snapshot, "choose another with --data-snapshot", func(ctx context.Context) error {
			return c.facts.SnapshotFits(ctx, disk.Snapshot, disk.Size)
		}))
	}
	out = append(out, c.accountChecks()...)
	if s.Network.Shared() {
		out = append(out, doctor.Check{Name: "shared subnetwork", Look: c.checkSharedSubnetwork})
	}
	for _, name := range c.ForeignSecrets() {
		out = append(out, doctor.Existing("secret "+name, "store it in Secret Manager of project "+s.Project, func(ctx context.Context) error {
			project, id := storage.SecretOf(name, s.Project)
			_, err := api.Do(ctx, c.Clients.Secrets.Projects.Secrets.Get(c.Clients.In(project).SecretName(id)))
			return err
		}))
	}
	return append(out, c.SecretChecks()...)
}

// checkDataDisk checks that an existing disk is unused, and that the master can run in its zone.
func (c *checker) checkDataDisk(ctx context.Context) doctor.Result {
	name, zone := c.Spec.Master.Disk.Name, c.Known.DiskZone
	const needed = "a disk that no other machine uses, in the zone of the master"
	if err := c.facts.DiskFree(ctx, name, c.Spec.Cluster); err != nil {
		r := doctor.FromError(err, needed)
		if r.Fix == "" {
			r.Fix = "choose another with --data-disk"
		}
		return r
	}
	switch wanted := c.Spec.Master.Zone; {
	case wanted != "" && wanted != zone:
		return doctor.Failed(fmt.Sprintf("%s is in %s, and the master's zone is %s", name, zone, wanted), needed, "--zone "+zone)
	case !c.Known.Types.OfferedIn(zone, []string{c.Spec.Master.MachineType}):
		return doctor.Failed(fmt.Sprintf("%s is in %s, which does not offer %s", name, zone, c.Spec.Master.MachineType), needed, "choose another --master-machine-type")
	}
	return doctor.Passed("in %s", zone)
}

// checkBucketAccess checks whether the caller may grant the cluster's accounts access to an
// existing bucket.
func (c *checker) checkBucketAccess(ctx context.Context, bucket string) doctor.Result {
	needed := "storage.buckets.getIamPolicy and storage.buckets.setIamPolicy on " + bucket
	missing, err := c.facts.MissingOnBucket(ctx, bucket, []string{"storage.buckets.getIamPolicy", "storage.buckets.setIamPolicy"})
	if err != nil {
		return doctor.FromError(err, needed)
	}
	if len(missing) > 0 && (c.Spec.Roles.Master == "" || c.Spec.Roles.Agent == "") {
		return doctor.Failed(c.Caller.String()+" may not: "+strings.Join(missing, ", "), needed, "ask its owner for the role Storage Admin on it, or use accounts that have access with --master-service-account and --agent-service-account")
	}
	return doctor.Passed("you may grant the cluster's accounts access")
}

// checkSharedSubnetwork checks whether the caller may create machines in a subnetwork of another
// project and, if requested, grant the cluster's accounts that right.
func (c *checker) checkSharedSubnetwork(ctx context.Context) doctor.Result {
	wanted := []string{"compute.subnetworks.use", "compute.subnetworks.useExternalIp"}
	if c.Spec.Network.ShareAccess {
		wanted = append(wanted, "compute.subnetworks.getIamPolicy", "compute.subnetworks.setIamPolicy")
	}
	needed := "the role Compute Network User on the subnetwork for the caller and for the cluster's accounts"
	missing, err := c.facts.MissingOnSubnetwork(ctx, c.place(), wanted)
	if err != nil {
		return doctor.FromError(err, needed)
	}
	fix := strings.Join(c.shareCommands(), "; ")
	if len(missing) > 0 {
		return doctor.Failed(c.Caller.String()+" may not: "+strings.Join(missing, ", "), needed, fix)
	}
	if !c.Spec.Network.ShareAccess && fix != "" {
		return doctor.Unsure("the access of the cluster's accounts is not checked", needed, fix+"; or set --share-access")
	}
	return doctor.Passed("%s may use it", c.Caller)
}

// shareCommands returns the commands with which an administrator of the host project grants the
// cluster's accounts access.
func (c *checker) shareCommands() []string {
	owner := *c.Owner
	owner.Shared = c.Spec.Network.HostProject + "/" + c.Spec.Network.Subnetwork
	var out []string
	for _, a := range []struct{ name, role, email string }{{"master", c.Spec.Roles.Master, c.MasterAccount()}, {"agent", c.Spec.Roles.Agent, c.AgentAccount()}} {
		var holder identity.Holder = &identity.Account{In: &owner, Name: a.name}
		switch {
		case a.role == spec.NoAccount:
			continue
		case a.email != "":
			holder = identity.ExistingAccount(a.email)
		}
		out = append(out, identity.NetworkUser(&owner, a.name, holder).Fix)
	}
	return out
}
