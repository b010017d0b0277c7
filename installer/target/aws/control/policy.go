package control

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// KindPolicy is the word for it in an inventory.
const KindPolicy = "bucket-policy"

// Policy is the statement that refuses plain HTTP to the control bucket, and
// the user's tags on it. The bucket itself comes before the plan and goes after it,
// with both.
type Policy struct {
	Bucket string
	In     *mark.Cluster

	// leaving is set once the policy is left to go with the bucket.
	leaving atomic.Bool
}

var _ resource.Updater = (*Policy)(nil)

// ID is "aws/bucket-policy/control".
func (*Policy) ID() string { return "aws/" + KindPolicy + "/control" }

// Kind is KindPolicy.
func (*Policy) Kind() string { return KindPolicy }

// Needs nothing.
func (*Policy) Needs() []string { return nil }

// Find looks at our statement only, and at the tags that are wanted: others are the
// user's own.
func (p *Policy) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	found, whole, err := p.tlsStatement().Look(ctx)
	if err != nil {
		return resource.Found{}, nil, fmt.Errorf("look at the policy of bucket %s: %w", p.Bucket, err)
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
		return resource.Found{}, nil, fmt.Errorf("look at the tags of bucket %s: %w", p.Bucket, err)
	}
	return resource.Found{Kind: KindPolicy, ID: p.Bucket, Name: "control"}, append(drift, tags...), nil
}

// Create puts the statement and the tags beside others.
func (p *Policy) Create(ctx context.Context) error {
	if err := p.tlsStatement().Put(ctx); err != nil {
		return err
	}
	return storage.TagBucket(ctx, p.In, p.Bucket)
}

// Update puts both as they should be.
func (p *Policy) Update(ctx context.Context, _ []resource.Drift) error { return p.Create(ctx) }

// Delete leaves the statement to the bucket, which holds the lease and goes last:
// until then no client may read it over plain HTTP either.
func (p *Policy) Delete(context.Context) error {
	p.leaving.Store(true)
	return nil
}

func (p *Policy) tlsStatement() storage.TLSOnly {
	return storage.TLSOnly{S3: p.In.Clients.S3, Bucket: p.Bucket}
}
