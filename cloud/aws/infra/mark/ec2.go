package mark

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Kind is one kind of EC2's objects that carry tags.
func Kind[T any](name string, list func(context.Context, []types.Filter) ([]T, error), observe func(T) infra.Observed) infra.Kind[T] {
	return infra.Kind[T]{
		Name: name, Observe: observe,
		List: func(ctx context.Context, tags map[string]string) ([]T, error) { return list(ctx, filtersOf(tags)) },
	}
}

func filtersOf(tags map[string]string) []types.Filter {
	var out []types.Filter
	for _, tag := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, types.Filter{Name: aws.String("tag:" + tag), Values: []string{tags[tag]}})
	}
	return out
}

// Define is what all resources of EC2 have in common. It needs those of refs that are
// resources.
func Define[T any](c *Cluster, k infra.Kind[T], name string, learned *infra.Learned, refs ...infra.Ref) infra.Definition[T] {
	return infra.Definition[T]{
		Kind: k, ID: ResourceID(k.Name, name), Needs: infra.NeedsOf(refs...),
		Owner: c.Owned(), Mark: map[string]string{ResourceTag: name}, Tags: c.ChangingTags(name), NonceTag: NonceTag,
		Identity: learned, Found: c.Found, Retag: c.Retag,
	}
}

// Owned is the mark of everything that is the cluster's.
func (c *Cluster) Owned() map[string]string { return map[string]string{ClusterTag: c.ID} }

// Resource is the mark of one of the cluster's resources.
func (c *Cluster) Resource(name string) map[string]string {
	return map[string]string{ClusterTag: c.ID, ResourceTag: name}
}

// Inventory lists everything of one kind that is the cluster's.
func Inventory[T any](c *Cluster, k infra.Kind[T]) func(context.Context) ([]resource.Found, error) {
	return func(ctx context.Context) ([]resource.Found, error) { return k.Founds(ctx, c.Owned(), c.Found) }
}

// pager is what the SDK's paginators have in common.
type pager[Out, Option any] interface {
	HasMorePages() bool
	NextPage(ctx context.Context, o ...Option) (*Out, error)
}

// Pages reads all pages.
func Pages[Out, Option, T any](ctx context.Context, p pager[Out, Option], items func(*Out) []T) ([]T, error) {
	var out []T
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, items(page)...)
	}
	return out, nil
}
