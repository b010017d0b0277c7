// Package storage manages a cluster's data: volumes and snapshots, the data bucket, secrets and
// logs.
package storage

import (
	"context"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// homeRegion is the one region that CreateBucket rejects as a location constraint.
const homeRegion = "us-east-1"

// Bucket is the bucket for checkpoints. It is encrypted, blocks public access and requires TLS.
type Bucket struct {
	In *mark.Cluster
	// Versioning keeps overwritten and deleted objects, which incurs storage costs.
	Versioning bool

	infra.Learned
}

var _ resource.Updater = (*Bucket)(nil)

// DataBucket returns the name of a cluster's data bucket. It contains the account ID, because
// bucket names are global.
func DataBucket(cluster, account string) string { return "det-deploy-" + cluster + "-data-" + account }

// ID returns the resource ID "aws/bucket/data".
func (*Bucket) ID() string { return mark.ResourceID(mark.KindBucket, "data") }

// Kind returns KindBucket.
func (*Bucket) Kind() string { return mark.KindBucket }

// Needs returns nil.
func (*Bucket) Needs() []string { return nil }

func (b *Bucket) bucketName() string { return DataBucket(b.In.ID, b.In.Account) }

// Find finds the bucket and compares its settings.
func (b *Bucket) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	found, tags, err := describeDataBucket(ctx, b.In)
	if err != nil || !found.Exists() {
		return resource.Found{}, nil, err
	}
	b.Learn(b.bucketName())
	drift := infra.MarkDrift(tags, b.In.Marks("data", ""))
	settings, err := b.settingsDrift(ctx)
	if err != nil {
		return resource.Found{}, nil, err
	}
	return found, append(drift, settings...), nil
}

// settingsDrift compares the settings in parallel.
func (b *Bucket) settingsDrift(ctx context.Context) ([]resource.Drift, error) {
	looks := []func(context.Context) (resource.Drift, error){b.encryptionDrift, b.publicAccess, b.tlsPolicyDrift, b.versioningDrift}
	found := make([]resource.Drift, len(looks))
	g, ctx := errgroup.WithContext(ctx)
	for i, look := range looks {
		g.Go(func() error {
			return b.In.Waiter().LookUpListed(ctx, b.ID(), func() (err error) {
				found[i], err = look(ctx)
				return err
			})
		})
	}
	err := g.Wait()
	return infra.Differences(found...), err
}

// Describe returns the name and the settings for the plan.
func (b *Bucket) Describe() []string {
	if b.Versioning {
		return []string{b.bucketName() + ", encrypted, private, versioned"}
	}
	return []string{b.bucketName() + ", encrypted, private"}
}

// Create creates the bucket and restricts access before it can contain objects.
func (b *Bucket) Create(ctx context.Context) error {
	in := &s3.CreateBucketInput{Bucket: aws.String(b.bucketName()), CreateBucketConfiguration: &types.CreateBucketConfiguration{
		Tags: s3Tags(b.In.Marks("data", "")),
	}}
	if region := b.In.Clients.Region; region != homeRegion {
		in.CreateBucketConfiguration.LocationConstraint = types.BucketLocationConstraint(region)
	}
	if err := b.claimName(ctx, in); err != nil {
		return err
	}
	return b.In.Waiter().Adopt(ctx, b)
}

// claimName waits until the name of a recently deleted bucket is available, unless the bucket
// belongs to another account.
func (b *Bucket) claimName(ctx context.Context, in *s3.CreateBucketInput) error {
	return b.In.Waiter().Await(ctx, b.ID(), infra.ToBeFree, func() (bool, error) {
		_, err := b.In.Clients.S3.CreateBucket(ctx, in)
		if cloud.KindOf(err) != cloud.Conflict {
			return true, err
		}
		found, _, findErr := b.Find(ctx)
		if cloud.KindOf(findErr) == cloud.Denied {
			return true, err // it belongs to another account
		}
		return found.Exists(), findErr
	})
}

// Delete deletes the bucket with all objects.
func (b *Bucket) Delete(ctx context.Context) error { return DeleteBucket(ctx, b.In, b.Identity()) }

// describeDataBucket returns the cluster's data bucket. A bucket without tags belongs to the
// cluster: an earlier run was interrupted before it set them.
func describeDataBucket(ctx context.Context, c *mark.Cluster) (resource.Found, map[string]string, error) {
	n := DataBucket(c.ID, c.Account)
	_, err := c.Clients.S3.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: aws.String(n), ExpectedBucketOwner: aws.String(c.Account)})
	if err != nil {
		return resource.Found{}, nil, infra.IgnoreMissing(err)
	}
	tags, err := describeBucketTags(ctx, c, n)
	if err != nil {
		return resource.Found{}, nil, err
	}
	if len(tags) > 0 && tags[mark.ClusterTag] != c.ID {
		return resource.Found{}, nil, infra.Foreign("s3:GetBucketTagging", "bucket "+n, "it does not carry the tag "+mark.ClusterTag)
	}
	f := c.Found(mark.KindBucket, infra.Observed{Identity: n, Marks: tags})
	f.Name = n
	return f, tags, nil
}

func describeBucketTags(ctx context.Context, c *mark.Cluster, n string) (map[string]string, error) {
	out, err := c.Clients.S3.GetBucketTagging(ctx, &s3.GetBucketTaggingInput{Bucket: aws.String(n)})
	if cloud.KindOf(err) == cloud.NotFound {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	return mark.TagMap(out.TagSet, func(t types.Tag) (k, v *string) { return t.Key, t.Value }), nil
}

// retagBucket adds tags to the existing ones, because S3 replaces the whole tag set.
func retagBucket(ctx context.Context, c *mark.Cluster, n string, more map[string]string) error {
	tags, err := describeBucketTags(ctx, c, n)
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
func BucketTagDrift(ctx context.Context, c *mark.Cluster, bucket string) ([]resource.Drift, error) {
	if len(c.Tags) == 0 {
		return nil, nil
	}
	have, err := describeBucketTags(ctx, c, bucket)
	if err != nil {
		return nil, err
	}
	return infra.MarkDrift(have, c.Tags), nil
}

// TagBucket adds the user's tags to those of a bucket.
func TagBucket(ctx context.Context, c *mark.Cluster, bucket string) error {
	if len(c.Tags) == 0 {
		return nil
	}
	return retagBucket(ctx, c, bucket, c.Tags)
}

// ListBuckets returns the data bucket of a cluster.
func ListBuckets(ctx context.Context, c *mark.Cluster) ([]resource.Found, error) {
	found, _, err := describeDataBucket(ctx, c)
	if err != nil || !found.Exists() {
		return nil, err
	}
	return []resource.Found{found}, nil
}

func s3Tags(tags map[string]string) []types.Tag {
	return mark.TagList(tags, func(k, v *string) types.Tag { return types.Tag{Key: k, Value: v} })
}
