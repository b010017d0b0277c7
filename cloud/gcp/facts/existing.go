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

// clusterLabel is on everything of a cluster that takes labels.
const clusterLabel = "det-deploy-cluster"

// DiskZone is the zone of the region that an existing disk is in.
func (f Facts) DiskZone(ctx context.Context, name string) (string, error) {
	d, err := f.findDisk(ctx, name)
	if err != nil {
		return "", fmt.Errorf("look at the existing disk %s: %w", name, err)
	}
	return path.Base(d.Zone), nil
}

// findDisk is the disk of a name in the region. Its name is one for a zone.
func (f Facts) findDisk(ctx context.Context, name string) (*compute.Disk, error) {
	all, err := f.Clients.ListDisks(ctx, "name="+name)
	if err != nil {
		return nil, err
	}
	var found *compute.Disk
	for _, d := range all {
		zone := path.Base(d.Zone)
		if d.Name != name || d.Zone == "" || regionOf(zone) != f.Clients.Region {
			continue
		}
		if found != nil {
			return nil, errUnfit("compute.disks.list", name, "there is one in "+path.Base(found.Zone)+" and one in "+zone, "rename or remove one of them")
		}
		found = d
	}
	if found == nil {
		return nil, &cloud.Error{
			Kind: cloud.NotFound, Op: "compute.disks.list", Resource: name,
			Fix: "choose another with --data-disk", Err: errors.New("there is no such disk in a zone of " + f.Clients.Region),
		}
	}
	return found, nil
}

// DiskFree refuses a disk that is attached to a machine that is not the cluster's.
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

// SnapshotFits refuses a snapshot of which no disk of so many GB can be made.
func (f Facts) SnapshotFits(ctx context.Context, name string, want int) error {
	s, err := api.Do(ctx, f.Clients.Compute.Snapshots.Get(f.Clients.Project, name))
	switch {
	case err != nil:
		return err
	case int(s.DiskSizeGb) > want:
		return errUnfit("compute.snapshots.get", name, fmt.Sprintf("it is of %d GB, and the disk is to have %d", s.DiskSizeGb, want), fmt.Sprintf("--data-disk-size %d", s.DiskSizeGb))
	case s.Status != "READY":
		return errUnfit("compute.snapshots.get", name, "its state is "+s.Status, "wait until it is READY, or choose another with --data-snapshot")
	}
	return nil
}

// DefaultAccount is the e-mail of Compute Engine's own service account in a project.
func DefaultAccount(number uint64) string {
	return strconv.FormatUint(number, 10) + "-compute@developer.gserviceaccount.com"
}

// AccountFit refuses a service account that machines cannot have.
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

// homeOf is the project of a service account: that of the cluster, unless its address
// names another one.
func (f Facts) homeOf(email string) api.Clients {
	_, domain, _ := strings.Cut(email, "@")
	project, own := strings.CutSuffix(domain, ".iam.gserviceaccount.com")
	if !own || project == f.Clients.Project || strings.Contains(project, ".") {
		return f.Clients
	}
	return f.Clients.In(project)
}

// MissingOnAccount lists those of some permissions that the caller does not have on a
// service account.
func (f Facts) MissingOnAccount(ctx context.Context, email string, permissions []string) ([]string, error) {
	return Missing(permissions, func(some []string) ([]string, error) {
		out, err := api.Do(ctx, f.Clients.IAM.Projects.ServiceAccounts.TestIamPermissions(f.homeOf(email).AccountName(email), &iam.TestIamPermissionsRequest{Permissions: some}))
		if err != nil {
			return nil, err
		}
		return out.Permissions, nil
	})
}

// errUnfit refuses an existing resource that cannot be used, with what to do.
func errUnfit(op, what, why, fix string) error {
	return &cloud.Error{Kind: cloud.Invalid, Op: op, Resource: what, Fix: fix, Err: errors.New(why)}
}
