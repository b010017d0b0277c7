package control

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// KindPolicy is the kind of the bucket policy in an inventory.
const KindPolicy = "bucket-policy"

// Policy is the statement that denies plain HTTP to the control bucket, with the user's tags on the
// bucket. The bucket itself is created before the plan and deleted after it, with both.
type Policy struct {
	Bucket string
	In     *mark.Cluster

	// leaving is set when the statement is left to be deleted with the bucket.
	leaving atomic.Bool
}

var _ resource.Updater = (*Policy)(nil)

// ID returns the ID of the policy in plans.
func (*Policy) ID() string { return "aws/" + KindPolicy + "/control" }

// Kind returns KindPolicy.
func (*Policy) Kind() string { return KindPolicy }

// Needs returns nil: the policy depends on no other resource.
func (*Policy) Needs() []string { return nil }

// Find compares only our statement and the requested tags; others belong to the user.
func (p *Policy) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	found, whole, err := p.tlsStatement().Look(ctx)
	if err != nil {
		return resource.Found{}, nil, fmt.Errorf("read the policy of bucket %s: %w", p.Bucket, err)
	}
	if !found || p.leaving.Load() {
		return resource.Found{}, nil, nil
	}
	var drift []resource.Drift
	if !whole {
		drift = append(drift, resource.Drift{Path: "plain-http", Have: "allowed", Want: "refused"})
	}
	tags, err := storage.BucketTagDrift(ctx, p.In, p.Bucket)
	if err != nil {
		return resource.Found{}, nil, fmt.Errorf("read the tags of bucket %s: %w", p.Bucket, err)
	}
	return resource.Found{Kind: KindPolicy, ID: p.Bucket, Name: "control"}, append(drift, tags...), nil
}

// Create adds the statement and the tags. It keeps existing ones.
func (p *Policy) Create(ctx context.Context) error {
	if err := p.tlsStatement().Put(ctx); err != nil {
		return err
	}
	return storage.TagBucket(ctx, p.In, p.Bucket)
}

// Update sets the statement and the tags.
func (p *Policy) Update(ctx context.Context, _ []resource.Drift) error { return p.Create(ctx) }

// Delete leaves the statement to the bucket. The bucket holds the lease and is deleted last, and
// until then it must deny plain HTTP.
func (p *Policy) Delete(context.Context) error {
	p.leaving.Store(true)
	return nil
}

func (p *Policy) tlsStatement() storage.TLSOnly {
	return storage.TLSOnly{S3: p.In.Clients.S3, Bucket: p.Bucket}
}
