package storage

import (
	"context"
	"fmt"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
)

// readBuckets is the permission to read a bucket.
const readBuckets = "storage.buckets.get"

const fixTaken = "choose another --cluster-id, or get the permission to read the bucket if it belongs to your project"

// Taken returns the error for a bucket whose name another project has taken.
func Taken(bucket string, why error) error {
	return &cloud.Error{
		Kind: cloud.Denied, Op: readBuckets, Resource: bucket, Fix: fixTaken,
		Err: fmt.Errorf("bucket names are shared by all projects, and another one has taken this name: %w", why),
	}
}

// ExplainDenied returns the reason for which the caller may not read a bucket of the cluster. Google's
// response is the same if the caller lacks the permission and if another project has taken the name, so the
// caller's permissions in the project decide. Taken reports whether it is the latter. Other errors are
// returned unchanged.
func ExplainDenied(ctx context.Context, c api.Clients, bucket string, denied error) (taken bool, err error) {
	if !api.LacksPermission(denied) {
		return false, denied
	}
	missing, testErr := facts.Facts{Clients: c}.MissingInProject(ctx, []string{readBuckets})
	switch {
	case testErr != nil:
		return false, &cloud.Error{
			Kind: cloud.Denied, Op: readBuckets, Resource: bucket, Fix: "ask for the permission " + readBuckets + " in project " + c.Project + ", or choose another --cluster-id",
			Err: fmt.Errorf("you may not read it, or another project has taken the name: %w", denied),
		}
	case len(missing) > 0:
		return false, denied
	}
	return true, Taken(bucket, denied)
}
