package aws

import (
	"context"
	"fmt"

	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

const kindBucketPolicy = "bucket-policy"

// controlPolicy is the statement that refuses plain HTTP to the control bucket, and
// the user's tags on it. The bucket itself comes before the plan and goes after it,
// with both.
type controlPolicy struct{ t *Target }

var _ resource.Updater = (*controlPolicy)(nil)

// ID is "aws/bucket-policy/control".
func (*controlPolicy) ID() string { return "aws/" + kindBucketPolicy + "/control" }

// Kind is kindBucketPolicy.
func (*controlPolicy) Kind() string { return kindBucketPolicy }

// Needs nothing.
func (*controlPolicy) Needs() []string { return nil }

// Find looks at our statement only, and at the tags that are wanted: others are the
// user's own.
func (p *controlPolicy) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	found, whole, err := p.statement().Look(ctx)
	if err != nil {
		return resource.Found{}, nil, fmt.Errorf("look at the policy of bucket %s: %w", p.t.store.Name, err)
	}
	if !found || p.t.leaving.Load() {
		return resource.Found{}, nil, nil
	}
	var drift []resource.Drift
	if !whole {
		drift = append(drift, resource.Drift{Path: "plain-http", Have: "allowed", Want: "refused"})
	}
	tags, err := storage.BucketTagDrift(ctx, p.t.cluster, p.t.store.Name)
	if err != nil {
		return resource.Found{}, nil, fmt.Errorf("look at the tags of bucket %s: %w", p.t.store.Name, err)
	}
	return resource.Found{Kind: kindBucketPolicy, ID: p.t.store.Name, Name: "control"}, append(drift, tags...), nil
}

// Create puts the statement and the tags beside others.
func (p *controlPolicy) Create(ctx context.Context) error {
	if err := p.statement().Put(ctx); err != nil {
		return err
	}
	return storage.TagBucket(ctx, p.t.cluster, p.t.store.Name)
}

// Update puts both as they should be.
func (p *controlPolicy) Update(ctx context.Context, _ []resource.Drift) error { return p.Create(ctx) }

// Delete leaves the statement to the bucket, which holds the lease and goes last:
// until then nobody is to read it over plain HTTP either.
func (p *controlPolicy) Delete(context.Context) error {
	p.t.leaving.Store(true)
	return nil
}

func (p *controlPolicy) statement() storage.TLSOnly {
	return storage.TLSOnly{S3: p.t.Clients.S3, Bucket: p.t.store.Name}
}
