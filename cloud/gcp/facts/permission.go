package facts

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/api/cloudresourcemanager/v3"
	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
)

// testedAtOnce is the maximum number of permissions per call of testIamPermissions.
const testedAtOnce = 100

// Missing returns the permissions that test does not report as granted.
func Missing(permissions []string, test func(some []string) ([]string, error)) ([]string, error) {
	var out []string
	for some := range slices.Chunk(permissions, testedAtOnce) {
		granted, err := test(some)
		if err != nil {
			return nil, err
		}
		for _, p := range some {
			if !slices.Contains(granted, p) {
				out = append(out, p)
			}
		}
	}
	return out, nil
}

// MissingOnSubnetwork returns the permissions that the caller lacks on a subnetwork of the region.
func (f Facts) MissingOnSubnetwork(ctx context.Context, at Place, permissions []string) ([]string, error) {
	return Missing(permissions, func(some []string) ([]string, error) {
		in := &compute.TestPermissionsRequest{Permissions: some}
		out, err := api.Do(ctx, f.Clients.Compute.Subnetworks.TestIamPermissions(at.Project, f.Clients.Region, at.Subnetwork, in))
		if err != nil {
			return nil, err
		}
		return out.Permissions, nil
	})
}

// MissingOnBucket returns the permissions that the caller lacks on a bucket.
func (f Facts) MissingOnBucket(ctx context.Context, bucket string, permissions []string) ([]string, error) {
	return Missing(permissions, func(some []string) ([]string, error) {
		out, err := api.Do(ctx, f.Clients.Storage.Buckets.TestIamPermissions(bucket, some))
		if err != nil {
			return nil, err
		}
		return out.Permissions, nil
	})
}

// MissingInProject returns the permissions that the caller lacks in the project.
func (f Facts) MissingInProject(ctx context.Context, permissions []string) ([]string, error) {
	out, err := Missing(permissions, func(some []string) ([]string, error) {
		in := &cloudresourcemanager.TestIamPermissionsRequest{Permissions: some}
		out, err := api.Do(ctx, f.Clients.Resources.Projects.TestIamPermissions(f.Clients.ProjectName(), in))
		if err != nil {
			return nil, err
		}
		return out.Permissions, nil
	})
	if err != nil {
		return nil, fmt.Errorf("test the caller's permissions in project %s: %w", f.Clients.Project, err)
	}
	return out, nil
}
