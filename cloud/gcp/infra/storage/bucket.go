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

// Bucket holds checkpoints. Roles alone give access, the public has none, and what is
// deleted is gone.
type Bucket struct {
	In *mark.Cluster

	infra.Learned
}

// DataBucket is the name of a cluster's data bucket.
func DataBucket(cluster string, project uint64) string {
	return "det-deploy-" + cluster + "-data-" + strconv.FormatUint(project, 10)
}

// ID is "gcp/bucket/data".
func (*Bucket) ID() string { return mark.ResourceID(mark.KindBucket, "data") }

// FullName is the name that all projects know it by.
func (b *Bucket) FullName() string { return DataBucket(b.In.ID, b.In.Number) }

// Define says what is wanted.
func (b *Bucket) Define() infra.Definition[*storage.Bucket] {
	d := mark.DefineAs(b.In, Buckets(b.In), mark.Named{Name: "data", Identity: b.FullName()}, &b.Learned)
	d.Tags = b.In.Labels
	d.Create = b.createBucket
	d.Retag = func(ctx context.Context, name string, marks map[string]string) error {
		return api.Send(ctx, b.In.Clients.Storage.Buckets.Patch(name, &storage.Bucket{Labels: marks})) // beside those that it has
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

// refuseTaken refuses a bucket of another project, which may have taken the name.
func (b *Bucket) refuseTaken(ctx context.Context) error {
	live, err := api.Do(ctx, b.In.Clients.Storage.Buckets.Get(b.FullName()))
	if err == nil && live.ProjectNumber != b.In.Number {
		err = fmt.Errorf("it belongs to project %d", live.ProjectNumber)
	} else if cloud.KindOf(err) != cloud.Denied {
		return nil
	}
	return &cloud.Error{
		Kind: cloud.Denied, Op: "storage.buckets.insert", Resource: b.FullName(),
		Fix: "choose another --cluster-id, or ask for the right to read the bucket if it is your project's",
		Err: fmt.Errorf("the name is one for all projects, and another one may have taken it: %w", err),
	}
}

// ClosedBucket has access by roles alone, none for the public, and no copies of what was
// deleted.
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

// Buckets are the data buckets of a cluster: the one of that name, if it is the project's
// and carries the mark. One that may not be looked at is another project's.
func Buckets(c *mark.Cluster) mark.Kind[storage.Bucket] {
	name := DataBucket(c.ID, c.Number)
	return mark.KindOf(c, mark.KindBucket, name, mark.Calls[storage.Bucket]{
		Get: func(ctx context.Context, name string) (*storage.Bucket, error) {
			live, err := api.Do(ctx, c.Clients.Storage.Buckets.Get(name))
			if cloud.KindOf(err) == cloud.Denied || err == nil && live.ProjectNumber != c.Number {
				return nil, infra.Missing("storage.buckets.get", name)
			}
			return live, err
		},
		Delete: func(ctx context.Context, name string) error { return DeleteBucket(ctx, c.Clients, name) },
		List:   c.Clients.ListBuckets,
	}, func(b *storage.Bucket) infra.Observed {
		return infra.Observed{Identity: b.Name, Marks: b.Labels, Deleting: b.Name != name}
	})
}

// removals is how many objects are removed at once: Cloud Storage takes a thousand writes a second
// of a new bucket.
const removals = 16

// DeleteBucket removes a bucket with all that is in it, and the versions that it kept. What
// is written meanwhile makes that a conflict.
func DeleteBucket(ctx context.Context, c api.Clients, name string) error {
	all, err := api.List(ctx, c.Storage.Objects.List(name).Versions(true), func(p *storage.Objects) []*storage.Object { return p.Items })
	if err != nil {
		return err
	}
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(removals)
	for _, o := range all {
		g.Go(func() error {
			return infra.IgnoreMissing(api.Delete(each, c.Storage.Objects.Delete(name, o.Name).Generation(o.Generation)))
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return api.Delete(ctx, c.Storage.Buckets.Delete(name))
}
