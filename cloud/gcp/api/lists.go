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

// ListInstances lists the machines of all zones that a filter lets through. A list that lacks a
// zone is an error, so that no machine there is taken for gone.
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

// ListDisks lists the disks of all zones that a filter lets through. A list that lacks a zone is
// an error, so that no disk there is taken for gone.
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

// ListBuckets lists the project's buckets whose names begin with prefix. A list that lacks a
// location is an error.
func (c Clients) ListBuckets(ctx context.Context, prefix string) ([]*storage.Bucket, error) {
	var missing []string
	out, err := List(ctx, c.Storage.Buckets.List(c.Project).Prefix(prefix), func(page *storage.Buckets) []*storage.Bucket {
		missing = append(missing, page.Unreachable...)
		return page.Items
	})
	return checkWhole("storage.buckets.list", missing, out, err)
}

// unreachable is the warning that a list does not cover a zone. Most zones have another one,
// NO_RESULTS_ON_PAGE.
const unreachable = "UNREACHABLE"

// checkWhole refuses a list in which zones are missing.
func checkWhole[T any](op string, missing []string, list []T, err error) ([]T, error) {
	if err != nil || len(missing) == 0 {
		return list, err
	}
	slices.Sort(missing)
	return nil, &cloud.Error{Kind: cloud.Unavailable, Op: op, Err: fmt.Errorf("the list lacks %s, which Google cannot reach", strings.Join(slices.Compact(missing), ", "))}
}
