package api

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"
	"google.golang.org/api/storage/v1"

	"github.com/det-deploy/det-deploy/cloud"
)

// ListInstances lists the instances of all zones that match a filter. It returns an error if the
// list lacks a zone, so that no instance there counts as deleted.
func (c Clients) ListInstances(ctx context.Context, filter string) ([]*compute.Instance, error) {
	var missing []string
	out, err := List(ctx, c.Compute.Instances.AggregatedList(c.Project).Filter(filter), func(page *compute.InstanceAggregatedList) (items []*compute.Instance) {
		missing = append(missing, page.Unreachables...)
		for scope, in := range page.Items {
			if in.Warning != nil && in.Warning.Code == unreachable {
				missing = append(missing, scope)
			}
			items = append(items, in.Instances...)
		}
		return items
	})
	return checkWhole("compute.instances.aggregatedList", missing, out, err)
}

// ListDisks lists the disks of all zones that match a filter. It returns an error if the list lacks
// a zone, so that no disk there counts as deleted.
func (c Clients) ListDisks(ctx context.Context, filter string) ([]*compute.Disk, error) {
	var missing []string
	out, err := List(ctx, c.Compute.Disks.AggregatedList(c.Project).Filter(filter), func(page *compute.DiskAggregatedList) (items []*compute.Disk) {
		missing = append(missing, page.Unreachables...)
		for scope, in := range page.Items {
			if in.Warning != nil && in.Warning.Code == unreachable {
				missing = append(missing, scope)
			}
			items = append(items, in.Disks...)
		}
		return items
	})
	return checkWhole("compute.disks.aggregatedList", missing, out, err)
}

// ListBuckets lists the project's buckets with a name prefix. It returns an error if the list lacks
// a location.
func (c Clients) ListBuckets(ctx context.Context, prefix string) ([]*storage.Bucket, error) {
	var missing []string
	out, err := List(ctx, c.Storage.Buckets.List(c.Project).Prefix(prefix), func(page *storage.Buckets) []*storage.Bucket {
		missing = append(missing, page.Unreachable...)
		return page.Items
	})
	return checkWhole("storage.buckets.list", missing, out, err)
}

// unreachable is the warning code for a zone missing in a list. Most zones have the code
// NO_RESULTS_ON_PAGE.
const unreachable = "UNREACHABLE"

// checkWhole returns an Unavailable error if zones are missing in a list.
func checkWhole[T any](op string, missing []string, list []T, err error) ([]T, error) {
	if err != nil || len(missing) == 0 {
		return list, err
	}
	slices.Sort(missing)
	return nil, &cloud.Error{Kind: cloud.Unavailable, Op: op, Err: fmt.Errorf("the list is incomplete: Google cannot reach %s", strings.Join(slices.Compact(missing), ", "))}
}
