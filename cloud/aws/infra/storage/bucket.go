// Package storage is what keeps a cluster's data: volumes and snapshots, the data bucket,
// secrets and logs.
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

// homeRegion is the one region that must not be named when a bucket is made.
const homeRegion = "us-east-1"

// Bucket holds checkpoints: encrypted, closed to the public, spoken to over TLS
// only.
type Bucket struct {
	In *mark.Cluster
	// Versioning keeps what was overwritten or deleted, at its price.
	Versioning bool

	infra.Learned
}

var _ resource.Updater = (*Bucket)(nil)

// DataBucket is the name of a cluster's data bucket. Names are shared by all
// accounts, hence the account in it.
func DataBucket(cluster, account string) string { return "det-deploy-" + cluster + "-data-" + account }

// ID is "aws/bucket/data".
func (*Bucket) ID() string { return mark.ResourceID(mark.KindBucket, "data") }

// Kind is KindBucket.
func (*Bucket) Kind() string { return mark.KindBucket }

// Needs nothing.
func (*Bucket) Needs() []string { return nil }

func (b *Bucket) bucketName() string { return DataBucket(b.In.ID, b.In.Account) }

// Find looks at it and at its settings.
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

// settingsDrift looks at its settings side by side.
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

// Describe is its name.
func (b *Bucket) Describe() []string {
	if b.Versioning {
		return []string{b.bucketName() + ", encrypted, private, versioned"}
	}
	return []string{b.bucketName() + ", encrypted, private"}
}

// Create makes it, closed before anything can be in it.
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

// claimName waits for the name of a bucket that was removed a moment ago, unless
// another account has it.
func (b *Bucket) claimName(ctx context.Context, in *s3.CreateBucketInput) error {
	return b.In.Waiter().Await(ctx, b.ID(), infra.ToBeFree, func() (bool, error) {
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
func (b *Bucket) Delete(ctx context.Context) error { return DeleteBucket(ctx, b.In, b.Identity()) }

// describeDataBucket looks at the cluster's data bucket. One without any tag is ours,
// made by a run that was interrupted before it came to the tags.
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

// retagBucket puts tags beside those that are there: S3 takes all or none.
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

// TagBucket puts the user's tags on a bucket, beside those that are there.
func TagBucket(ctx context.Context, c *mark.Cluster, bucket string) error {
	if len(c.Tags) == 0 {
		return nil
	}
	return retagBucket(ctx, c, bucket, c.Tags)
}

// ListBuckets lists the data bucket of a cluster.
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
