package storage

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"golang.org/x/sync/errgroup"
	"google.golang.org/api/storage/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Bucket is the bucket for checkpoints. Access is controlled by IAM only, public access is
// prevented, and deleted objects are not recoverable.
type Bucket struct {
	In *mark.Cluster

	infra.Learned
}

// DataBucket returns the name of a cluster's data bucket.
func DataBucket(cluster string, project uint64) string {
	return "det-deploy-" + cluster + "-data-" + strconv.FormatUint(project, 10)
}

// ID returns the resource ID "gcp/bucket/data".
func (*Bucket) ID() string { return mark.ResourceID(mark.KindBucket, "data") }

// FullName returns the global name of the bucket.
func (b *Bucket) FullName() string { return DataBucket(b.In.ID, b.In.Number) }

// Define implements infra.Defined.
func (b *Bucket) Define() infra.Definition[*storage.Bucket] {
	d := mark.DefineAs(b.In, Buckets(b.In), mark.Named{Name: "data", Identity: b.FullName()}, &b.Learned)
	d.Tags = b.In.Labels
	d.Create = b.createBucket
	d.Retag = func(ctx context.Context, name string, marks map[string]string) error {
		return api.Send(ctx, b.In.Clients.Storage.Buckets.Patch(name, &storage.Bucket{Labels: marks})) // a patch keeps other labels
	}
	d.Compare = compareBucket
	d.Change = func(ctx context.Context, _ []resource.Drift) error {
		return api.Send(ctx, b.In.Clients.Storage.Buckets.Patch(b.Identity(), ClosedBucket()))
	}
	d.Describe = func() []string { return []string{b.FullName() + " in " + b.In.Clients.Region + ", private"} }
	return d
}

func (b *Bucket) createBucket(ctx context.Context, _ string) error {
	in := ClosedBucket()
	in.Name, in.Location, in.Labels = b.FullName(), b.In.Clients.Region, b.In.AllLabels()
	return mark.Insert(ctx, b.In, b.Define(), in.Name, func() error {
		err := api.Send(ctx, b.In.Clients.Storage.Buckets.Insert(b.In.Clients.Project, in))
		if cloud.KindOf(err) == cloud.Conflict {
			return cmp.Or(b.refuseTaken(ctx), err)
		}
		return err
	})
}

// refuseTaken returns an error if another project has taken the bucket's name.
func (b *Bucket) refuseTaken(ctx context.Context) error {
	live, err := api.Do(ctx, b.In.Clients.Storage.Buckets.Get(b.FullName()))
	switch {
	case err == nil && live.ProjectNumber != b.In.Number:
		return Taken(b.FullName(), fmt.Errorf("it belongs to project %d", live.ProjectNumber))
	case cloud.KindOf(err) == cloud.Denied:
		_, err = ExplainDenied(ctx, b.In.Clients, b.FullName(), err)
		return err
	}
	return nil
}

// ClosedBucket returns the bucket settings: uniform bucket-level access, public access prevention,
// and no soft delete.
func ClosedBucket() *storage.Bucket {
	return &storage.Bucket{
		IamConfiguration: &storage.BucketIamConfiguration{
			UniformBucketLevelAccess: &storage.BucketIamConfigurationUniformBucketLevelAccess{Enabled: true},
			PublicAccessPrevention:   publicAccessPrevented,
		},
		SoftDeletePolicy: &storage.BucketSoftDeletePolicy{ForceSendFields: []string{"RetentionDurationSeconds"}},
	}
}

const publicAccessPrevented = "enforced"

func compareBucket(_ context.Context, live *storage.Bucket) ([]resource.Drift, error) {
	uniform, public, kept := false, "", int64(0)
	if c := live.IamConfiguration; c != nil {
		uniform, public = c.UniformBucketLevelAccess != nil && c.UniformBucketLevelAccess.Enabled, c.PublicAccessPrevention
	}
	if p := live.SoftDeletePolicy; p != nil {
		kept = p.RetentionDurationSeconds
	}
	return infra.Differences(
		infra.Changeable("access-lists", onOff(!uniform), onOff(false)),
		infra.Changeable("public-access-prevention", public, publicAccessPrevented),
		infra.Changeable("soft-delete", fmt.Sprintf("%d seconds", kept), "0 seconds"),
	), nil
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// Buckets returns the kind of a cluster's data bucket: the one of that name, if it is in the
// project and carries the mark.
func Buckets(c *mark.Cluster) mark.Kind[storage.Bucket] {
	name := DataBucket(c.ID, c.Number)
	return mark.KindOf(c, mark.KindBucket, name, mark.Calls[storage.Bucket]{
		Get: func(ctx context.Context, name string) (*storage.Bucket, error) {
			live, err := api.Do(ctx, c.Clients.Storage.Buckets.Get(name))
			taken := err == nil && live.ProjectNumber != c.Number
			if cloud.KindOf(err) == cloud.Denied {
				taken, err = ExplainDenied(ctx, c.Clients, name, err)
			}
			if taken {
				return nil, infra.Missing(readBuckets, name)
			}
			return live, err
		},
		Delete: func(ctx context.Context, name string) error { return DeleteBucket(ctx, c.Clients, name) },
		List:   c.Clients.ListBuckets,
	}, func(b *storage.Bucket) infra.Observed {
		return infra.Observed{Identity: b.Name, Marks: b.Labels, Deleting: b.Name != name}
	})
}

// concurrentDeletes is the number of concurrent deletes. Cloud Storage allows a thousand writes per second
// to a new bucket.
const concurrentDeletes = 16

// DeleteBucket deletes a bucket with all objects and their noncurrent versions. It returns a
// Conflict error if objects were written in the meantime.
func DeleteBucket(ctx context.Context, c api.Clients, name string) error {
	if err := EmptyBucket(ctx, c, name, ""); err != nil {
		return err
	}
	return api.Delete(ctx, c.Storage.Buckets.Delete(name))
}

// EmptyBucket deletes all objects but keep, and their noncurrent versions.
func EmptyBucket(ctx context.Context, c api.Clients, name, keep string) error {
	all, err := api.List(ctx, c.Storage.Objects.List(name).Versions(true), func(p *storage.Objects) []*storage.Object { return p.Items })
	if err != nil {
		return err
	}
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(concurrentDeletes)
	for _, o := range all {
		if o.Name == keep {
			continue
		}
		g.Go(func() error {
			return infra.IgnoreMissing(api.Delete(each, c.Storage.Objects.Delete(name, o.Name).Generation(o.Generation)))
		})
	}
	return g.Wait()
}
