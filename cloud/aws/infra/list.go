package infra

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// sight is what is read off a live object, whatever its kind.
type sight struct {
	id   string
	tags map[string]string
	// fading is true for what is on its way out, and so is not listed.
	fading bool
	// used is true for what something else hangs on.
	used bool
	born time.Time
}

// kind is one kind of EC2's objects that carry tags.
type kind[T any] struct {
	name string
	// list pages to the end.
	list func(ctx context.Context, c *Cluster, filters []types.Filter) ([]T, error)
	look func(T) sight
}

// seen is a live object and what was read off it.
type seen[T any] struct {
	sight

	live T
}

// all lists the cluster's objects that have some more tags, or no more: those in
// use first, then the oldest. What a filter returned is checked again.
func (k kind[T]) all(ctx context.Context, c *Cluster, more map[string]string) ([]seen[T], error) {
	marks := map[string]string{ClusterTag: c.ID}
	maps.Copy(marks, more)
	var filters []types.Filter
	for _, tag := range slices.Sorted(maps.Keys(marks)) {
		filters = append(filters, types.Filter{Name: aws.String("tag:" + tag), Values: []string{marks[tag]}})
	}
	items, err := k.list(ctx, c, filters)
	if err != nil {
		return nil, err
	}
	var out []seen[T]
	for _, item := range items {
		s := k.look(item)
		if !s.fading && len(tagDrift(s.tags, marks)) == 0 {
			out = append(out, seen[T]{s, item})
		}
	}
	slices.SortFunc(out, func(a, b seen[T]) int {
		return cmp.Or(compareBool(b.used, a.used), a.born.Compare(b.born), cmp.Compare(a.id, b.id))
	})
	return out, nil
}

// named finds the object that is the cluster's resource of that name.
func (k kind[T]) named(ctx context.Context, c *Cluster, name string) (seen[T], resource.Found, error) {
	all, err := k.all(ctx, c, map[string]string{ResourceTag: name})
	if err != nil || len(all) == 0 {
		return seen[T]{}, resource.Found{}, err
	}
	return all[0], c.found(k.name, all[0].sight), nil
}

// made lists the objects that carry nonce.
func (k kind[T]) made(ctx context.Context, c *Cluster, nonce string) ([]resource.Found, error) {
	return k.founds(ctx, c, map[string]string{NonceTag: nonce})
}

// inventory lists everything of this kind that is the cluster's.
func (k kind[T]) inventory(ctx context.Context, c *Cluster) ([]resource.Found, error) {
	return k.founds(ctx, c, nil)
}

func (k kind[T]) founds(ctx context.Context, c *Cluster, more map[string]string) ([]resource.Found, error) {
	all, err := k.all(ctx, c, more)
	out := make([]resource.Found, len(all))
	for i, s := range all {
		out[i] = c.found(k.name, s.sight)
	}
	return out, err
}

// found is how the inventory lists an object.
func (c *Cluster) found(kind string, s sight) resource.Found {
	return resource.Found{
		Kind: kind, ID: s.id, Name: cmp.Or(s.tags[ResourceTag], s.tags[NameTag]),
		Retain:   c.retain(kind, s.tags),
		Launched: kind == KindAgent || kind == KindSpotRequest,
		Nonce:    s.tags[NonceTag],
	}
}

// retain says why an object outlives `down`. A volume that is not one of the
// cluster's resources is some machine's own disk, and a secret whose tag was
// lost rather stays than goes.
func (c *Cluster) retain(kind string, tags map[string]string) string {
	switch {
	case kind == KindBucket:
		return retainData
	case kind == KindSnapshot:
		return retainBackup
	case kind == KindVolume && tags[ResourceTag] != "":
		return retainVolume
	case kind == KindSecret && tags[RetainTag] != retainNo:
		return opensWhat(cmp.Or(tags[OpensTag], c.Outside))
	case kind == KindLogGroup && tags[RetainTag] == retainYes:
		return retainLogs
	}
	return ""
}

// opensWhat says what a secret is kept for: data of the user's own, or the cluster's.
func opensWhat(outside string) string {
	if outside == "" {
		return retainOpensData
	}
	return "opens " + outside + ", which stays"
}

// pager is what the SDK's paginators have in common.
type pager[Out, Option any] interface {
	HasMorePages() bool
	NextPage(ctx context.Context, o ...Option) (*Out, error)
}

// pages reads all pages.
func pages[Out, Option, T any](ctx context.Context, p pager[Out, Option], items func(*Out) []T) ([]T, error) {
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

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// nonced is for resources that are only ever made under a nonce.
type nonced struct{}

// Create refuses: a second call would make a second one.
func (nonced) Create(context.Context) error {
	return errors.New("is created under a nonce, and was not given one")
}
