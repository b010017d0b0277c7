package facts

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"google.golang.org/api/compute/v1"
	"google.golang.org/api/iam/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
)

// clusterLabel is the label of all objects of a cluster that support labels.
const clusterLabel = "det-deploy-cluster"

// DiskZone returns the zone of an existing disk in the region.
func (f Facts) DiskZone(ctx context.Context, name string) (string, error) {
	d, err := f.findDisk(ctx, name)
	if err != nil {
		return "", fmt.Errorf("describe the existing disk %s: %w", name, err)
	}
	return path.Base(d.Zone), nil
}

// findDisk returns the disk of a name in the region. Disk names are unique per zone only.
func (f Facts) findDisk(ctx context.Context, name string) (*compute.Disk, error) {
	all, err := f.Clients.ListDisks(ctx, "name="+name)
	if err != nil {
		return nil, err
	}
	var found *compute.Disk
	for _, d := range all {
		if d.Name == name && path.Base(d.Region) == f.Clients.Region {
			return nil, errUnfit("compute.disks.list", name, "it is a regional disk, and the master's machine attaches only zonal ones", "make a snapshot of it for --data-snapshot, or choose another with --data-disk")
		}
		zone := path.Base(d.Zone)
		if d.Name != name || d.Zone == "" || regionOf(zone) != f.Clients.Region {
			continue
		}
		if found != nil {
			return nil, errUnfit("compute.disks.list", name, "it exists in "+path.Base(found.Zone)+" and in "+zone, "delete one of them")
		}
		found = d
	}
	if found == nil {
		return nil, &cloud.Error{
			Kind: cloud.NotFound, Op: "compute.disks.list", Resource: name,
			Fix: "choose another with --data-disk", Err: errors.New("it does not exist in any zone of " + f.Clients.Region),
		}
	}
	return found, nil
}

// DiskFree returns an error if a disk is attached to an instance that does not belong to the
// cluster.
func (f Facts) DiskFree(ctx context.Context, name, cluster string) error {
	d, err := f.findDisk(ctx, name)
	if err != nil {
		return err
	}
	if d.Status != "READY" {
		return errUnfit("compute.disks.get", name, "its state is "+d.Status, "wait until it is READY, or choose another with --data-disk")
	}
	for _, user := range d.Users {
		by := path.Base(user)
		m, err := api.Do(ctx, f.Clients.Compute.Instances.Get(f.Clients.Project, path.Base(d.Zone), by))
		if err != nil {
			return err
		}
		if m.Labels[clusterLabel] != cluster {
			return errUnfit("compute.disks.get", name, "it is attached to "+by, "detach it, or choose another with --data-disk")
		}
	}
	return nil
}

// SnapshotFits returns an error if the snapshot is unusable for a disk of want GB.
func (f Facts) SnapshotFits(ctx context.Context, name string, want int) error {
	s, err := api.Do(ctx, f.Clients.Compute.Snapshots.Get(f.Clients.Project, name))
	switch {
	case err != nil:
		return err
	case int(s.DiskSizeGb) > want:
		return errUnfit("compute.snapshots.get", name, fmt.Sprintf("it has %d GB, but the data disk has only %d GB", s.DiskSizeGb, want), fmt.Sprintf("set --data-disk-size %d", s.DiskSizeGb))
	case s.Status != "READY":
		return errUnfit("compute.snapshots.get", name, "its state is "+s.Status, "wait until it is READY, or choose another with --data-snapshot")
	}
	return nil
}

// DefaultAccount returns the email of a project's Compute Engine default service account.
func DefaultAccount(number uint64) string {
	return strconv.FormatUint(number, 10) + "-compute@developer.gserviceaccount.com"
}

// AccountFit returns an error if a service account cannot be attached to instances.
func (f Facts) AccountFit(ctx context.Context, email string) error {
	live, err := api.Do(ctx, f.Clients.IAM.Projects.ServiceAccounts.Get(f.homeOf(email).AccountName(email)))
	if err != nil {
		return err
	}
	if live.Disabled {
		return errUnfit("iam.projects.serviceAccounts.get", email, "it is disabled", "enable it with `gcloud iam service-accounts enable "+email+"`")
	}
	return nil
}

// homeOf returns the clients for the project of a service account: the cluster's, unless the email
// names another one.
func (f Facts) homeOf(email string) api.Clients {
	_, domain, _ := strings.Cut(email, "@")
	project, own := strings.CutSuffix(domain, ".iam.gserviceaccount.com")
	if !own || project == f.Clients.Project || strings.Contains(project, ".") {
		return f.Clients
	}
	return f.Clients.In(project)
}

// MissingOnAccount returns the permissions that the caller lacks on a service account.
func (f Facts) MissingOnAccount(ctx context.Context, email string, permissions []string) ([]string, error) {
	return Missing(permissions, func(some []string) ([]string, error) {
		out, err := api.Do(ctx, f.Clients.IAM.Projects.ServiceAccounts.TestIamPermissions(f.homeOf(email).AccountName(email), &iam.TestIamPermissionsRequest{Permissions: some}))
		if err != nil {
			return nil, err
		}
		return out.Permissions, nil
	})
}

// errUnfit returns the error for an existing resource that cannot be used, with the advice for the
// user.
func errUnfit(op, what, why, fix string) error {
	return &cloud.Error{Kind: cloud.Invalid, Op: op, Resource: what, Fix: fix, Err: errors.New(why)}
}
