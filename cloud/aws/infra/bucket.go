package infra

import (
	"context"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// homeRegion is the one region that must not be named when a bucket is made.
const homeRegion = "us-east-1"

// Bucket holds checkpoints: encrypted, closed to the public, spoken to over TLS
// only.
type Bucket struct {
	In *Cluster
	// Versioning keeps what was overwritten or deleted, at its price.
	Versioning bool

	learned
}

var _ resource.Updater = (*Bucket)(nil)

// DataBucket is the name of a cluster's data bucket. Names are shared by all
// accounts, hence the account in it.
func DataBucket(cluster, account string) string { return "det-deploy-" + cluster + "-data-" + account }

// ID is "aws/bucket/data".
func (*Bucket) ID() string { return resourceID(KindBucket, "data") }

// Kind is KindBucket.
func (*Bucket) Kind() string { return KindBucket }

// Needs nothing.
func (*Bucket) Needs() []string { return nil }

func (b *Bucket) name() string { return DataBucket(b.In.ID, b.In.Account) }

// Find looks at it and at its settings.
func (b *Bucket) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	found, tags, err := b.In.dataBucket(ctx)
	if err != nil || !found.Exists() {
		return resource.Found{}, nil, err
	}
	b.id = b.name()
	drift := tagDrift(tags, b.In.marks("data", ""))
	for _, look := range []func(context.Context) (resource.Drift, error){b.encryption, b.publicAccess, b.policy, b.versioning} {
		var d resource.Drift
		err := b.In.sure(ctx, b.ID(), func() (err error) {
			d, err = look(ctx)
			return err
		})
		if err != nil {
			return resource.Found{}, nil, err
		}
		if d.Have != d.Want {
			drift = append(drift, d)
		}
	}
	return found, drift, nil
}

// Create makes it, closed before anything can be in it.
func (b *Bucket) Create(ctx context.Context) error {
	in := &s3.CreateBucketInput{Bucket: aws.String(b.name()), CreateBucketConfiguration: &types.CreateBucketConfiguration{
		Tags: s3Tags(b.In.marks("data", "")),
	}}
	if region := b.In.Clients.Region; region != homeRegion {
		in.CreateBucketConfiguration.LocationConstraint = types.BucketLocationConstraint(region)
	}
	if err := b.claim(ctx, in); err != nil {
		return err
	}
	return b.In.adopt(ctx, b)
}

// claim waits for the name of a bucket that was removed a moment ago, unless
// somebody has it.
func (b *Bucket) claim(ctx context.Context, in *s3.CreateBucketInput) error {
	return b.In.await(ctx, b.ID(), toBeFree, func() (bool, error) {
		_, err := b.In.Clients.S3.CreateBucket(ctx, in)
		if cloud.KindOf(err) != cloud.Conflict {
			return true, err
		}
		found, _, findErr := b.Find(ctx)
		if cloud.KindOf(findErr) == cloud.Denied {
			return true, err // it is another account's
		}
		return found.Exists(), findErr
	})
}

// Delete removes it with all that is in it.
func (b *Bucket) Delete(ctx context.Context) error { return b.In.deleteBucket(ctx, b.id) }

// dataBucket looks at the cluster's data bucket. One without any tag is ours,
// made by a run that was interrupted before it came to the tags.
func (c *Cluster) dataBucket(ctx context.Context) (resource.Found, map[string]string, error) {
	n := DataBucket(c.ID, c.Account)
	_, err := c.Clients.S3.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: aws.String(n), ExpectedBucketOwner: aws.String(c.Account)})
	if err != nil {
		return resource.Found{}, nil, gone(err)
	}
	tags, err := c.bucketTags(ctx, n)
	if err != nil {
		return resource.Found{}, nil, err
	}
	if len(tags) > 0 && tags[ClusterTag] != c.ID {
		return resource.Found{}, nil, foreign("s3:GetBucketTagging", "bucket "+n, "it does not carry the tag "+ClusterTag)
	}
	f := c.found(KindBucket, sight{id: n, tags: tags})
	f.Name = n
	return f, tags, nil
}

func (c *Cluster) bucketTags(ctx context.Context, n string) (map[string]string, error) {
	out, err := c.Clients.S3.GetBucketTagging(ctx, &s3.GetBucketTaggingInput{Bucket: aws.String(n)})
	if cloud.KindOf(err) == cloud.NotFound {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	return tagMap(out.TagSet, func(t types.Tag) (k, v *string) { return t.Key, t.Value }), nil
}

// retagBucket puts tags beside those that are there: S3 takes all or none.
func (c *Cluster) retagBucket(ctx context.Context, n string, more map[string]string) error {
	tags, err := c.bucketTags(ctx, n)
	if err != nil {
		return err
	}
	maps.Copy(tags, more)
	_, err = c.Clients.S3.PutBucketTagging(ctx, &s3.PutBucketTaggingInput{
		Bucket: aws.String(n), Tagging: &types.Tagging{TagSet: s3Tags(tags)},
	})
	return err
}

// BucketTagDrift compares the tags of a bucket with the user's.
func (c *Cluster) BucketTagDrift(ctx context.Context, bucket string) ([]resource.Drift, error) {
	if len(c.Tags) == 0 {
		return nil, nil
	}
	have, err := c.bucketTags(ctx, bucket)
	if err != nil {
		return nil, err
	}
	return tagDrift(have, c.Tags), nil
}

// TagBucket puts the user's tags on a bucket, beside those that are there.
func (c *Cluster) TagBucket(ctx context.Context, bucket string) error {
	if len(c.Tags) == 0 {
		return nil
	}
	return c.retagBucket(ctx, bucket, c.Tags)
}

func buckets(ctx context.Context, c *Cluster) ([]resource.Found, error) {
	found, _, err := c.dataBucket(ctx)
	if err != nil || !found.Exists() {
		return nil, err
	}
	return []resource.Found{found}, nil
}

func s3Tags(tags map[string]string) []types.Tag {
	return tagList(tags, func(k, v *string) types.Tag { return types.Tag{Key: k, Value: v} })
}
