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

// Kind returns a kind of tagged EC2 objects.
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

// Define returns the definition common to all EC2 resources. It needs the resources among refs.
func Define[T any](c *Cluster, k infra.Kind[T], name string, learned *infra.Learned, refs ...infra.Ref) infra.Definition[T] {
	return infra.Definition[T]{
		Kind: k, ID: ResourceID(k.Name, name), Needs: infra.NeedsOf(refs...),
		Owner: c.Owned(), Mark: map[string]string{ResourceTag: name}, Tags: c.ChangingTags(name), NonceTag: NonceTag,
		Identity: learned, Found: c.Found, Retag: c.Retag,
	}
}

// Owned returns the tag of all objects of the cluster.
func (c *Cluster) Owned() map[string]string { return map[string]string{ClusterTag: c.ID} }

// Resource returns the tags that identify one of the cluster's resources.
func (c *Cluster) Resource(name string) map[string]string {
	return map[string]string{ClusterTag: c.ID, ResourceTag: name}
}

// Inventory returns a function that lists all objects of one kind of the cluster.
func Inventory[T any](c *Cluster, k infra.Kind[T]) func(context.Context) ([]resource.Found, error) {
	return func(ctx context.Context) ([]resource.Found, error) { return k.Founds(ctx, c.Owned(), c.Found) }
}

// pager is implemented by the SDK's paginators.
type pager[Out, Option any] interface {
	HasMorePages() bool
	NextPage(ctx context.Context, o ...Option) (*Out, error)
}

// Pages returns the items of all pages.
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
